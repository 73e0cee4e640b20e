import type { Attending, HeadFigures, Kind, Line, LineName, Look, Machine, Question } from '../types'
import { FIRST, PLAIN, fromAddress, toAddress, type Chosen } from './address'
import { whoAnswers, type Answers } from './ask'
import { Grid } from './grid'

/** A token that the pointer is over, on one of the three lines. */
export interface Pointed {
  line: LineName
  token: number
}

/** All that the panels share: the question asked, its answer, what is chosen in it, and what is pointed at. */
export class View {
  machine = $state.raw<Machine | null>(null)
  look = $state.raw<Look | null>(null)
  busy = $state(false)
  error = $state('')
  chosen = $state.raw<Chosen>(FIRST)
  pointed = $state.raw<Pointed | null>(null)

  /** The weights of the sentence, unpacked: encoder (L, H, S, S), decoder (L, H, T, T), cross (L, H, T, S). */
  readonly weights: Partial<Record<Kind, Grid>> = $derived.by(() => {
    const packed = Object.entries(this.look?.weights ?? {})
    return Object.fromEntries(packed.map(([kind, weights]) => [kind, Grid.shares(weights)]))
  })

  readonly answers: Answers
  private readonly kept: Question | null
  private newest = 0

  constructor(page: Document = document) {
    const { answers, kept } = whoAnswers(page)
    this.answers = answers
    this.kept = kept
  }

  /** Begin: with what the address asks for, or what an offline page was made for, or an example. */
  async begin(): Promise<void> {
    try {
      this.machine = await this.answers.machine()
      const asked = fromAddress(location.hash)
      const [example = ''] = this.machine.examples
      const text =
        this.kept ??
        asked?.question ??
        (this.machine.input === 'picture' ? this.plain('', '', example) : this.plain(example))
      if (text.text || text.picture) await this.ask(text, asked?.chosen)
    } catch (error) {
      this.error = (error as Error).message
    }
  }

  /** A question without any change to the model. */
  plain(
    text: string,
    to: string = this.look?.question.to ?? this.machine?.languages.at(-1) ?? '',
    picture: string = this.look?.question.picture ?? '',
  ): Question {
    return { text, to, ...PLAIN, picture }
  }

  /** Ask, and show the answer; an answer that has been overtaken by a later question is not shown. */
  async ask(question: Question, chosen: Chosen = this.chosen): Promise<void> {
    const number = ++this.newest
    this.busy = true
    this.error = ''
    try {
      const look = await this.answers.look(question)
      if (number !== this.newest) return
      const first = !this.look
      this.look = look
      this.pointed = null
      this.choose(first && chosen.step === 0 ? { ...chosen, step: firstStep(look) } : chosen)
    } catch (error) {
      if (number === this.newest) this.error = (error as Error).message
    } finally {
      if (number === this.newest) this.busy = false
    }
  }

  /** Choose a token, layer, head or time step; everything follows, and the address says so. */
  choose(some: Partial<Chosen>): void {
    const chosen = { ...this.chosen, ...some }
    if (this.machine && this.look) {
      if (!this.machine.kinds.some(({ kind }) => kind === chosen.kind)) chosen.kind = this.machine.kinds[0].kind
      chosen.layer = within(chosen.layer, this.layers(chosen.kind))
      chosen.head = within(chosen.head, this.machine.heads)
      chosen.source = within(chosen.source, this.look.source.tokens.length)
      chosen.step = within(chosen.step, this.look.target.tokens.length)
    }
    this.chosen = chosen
    if (this.look) remember(toAddress(this.look.question, chosen))
  }

  /** A kind of attention, as the machine has it. */
  attending(kind: Kind): Attending {
    return this.machine!.kinds.find((each) => each.kind === kind) ?? this.machine!.kinds[0]
  }

  layers(kind: Kind): number {
    return this.attending(kind).layers
  }

  /** The lines of an attention map: who looks, and who is looked at. */
  rows(kind: Kind): Line {
    return this.look![this.attending(kind).rows]
  }

  columns(kind: Kind): Line {
    return this.look![this.attending(kind).columns]
  }

  /** The chosen row of a kind of attention: the chosen word, or the chosen time step. */
  row(kind: Kind = this.chosen.kind): number {
    return this.on(this.attending(kind).rows)
  }

  /** The chosen token of a line. */
  on(line: LineName): number {
    return line === 'source' ? this.chosen.source : this.chosen.step
  }

  chooseRow(kind: Kind, row: number): void {
    this.chooseOn(this.attending(kind).rows, row, { kind })
  }

  chooseOn(line: LineName, token: number, more: Partial<Chosen> = {}): void {
    this.choose({ ...more, ...(line === 'source' ? { source: token } : { step: token }) })
  }

  figures(kind: Kind, layer: number, head: number): HeadFigures | undefined {
    return this.look?.heads.find((each) => each.kind === kind && each.layer === layer && each.head === head)
  }
}

/** The time step to begin with: the first that the model chose itself; of a picture that was painted, none of its. */
function firstStep(look: Look): number {
  return look.picture
    ? 0
    : Math.max(
        0,
        look.steps.findIndex(({ forced }) => !forced),
      )
}

/** Put a view into the address. A browser may refuse when it is done too often at once; the next one will do. */
function remember(fragment: string): void {
  try {
    history.replaceState(null, '', '#' + fragment)
  } catch {
    return
  }
}

function within(index: number, count: number): number {
  return Math.max(0, Math.min(index, count - 1))
}
