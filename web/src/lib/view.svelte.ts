import type { HeadFigures, Kind, Line, Look, Machine, Question } from '../types'
import { FIRST, PLAIN, fromAddress, toAddress, type Chosen } from './address'
import { whoAnswers, type Answers } from './ask'
import { Grid } from './grid'

/** A token that the pointer is over, on one of the three lines. */
export interface Pointed {
  line: 'source' | 'read' | 'target'
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
  readonly weights: Record<Kind, Grid> | null = $derived.by(() => {
    if (!this.look) return null
    const { encoder, decoder, cross } = this.look.weights
    return { encoder: Grid.unpack(encoder), decoder: Grid.unpack(decoder), cross: Grid.unpack(cross) }
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
      const text = this.kept ?? asked?.question ?? this.plain(this.machine.examples[0] ?? '')
      if (text.text) await this.ask(text, asked?.chosen)
    } catch (error) {
      this.error = (error as Error).message
    }
  }

  /** A question without any change to the model. */
  plain(text: string, to: string = this.look?.question.to ?? this.machine?.languages.at(-1) ?? ''): Question {
    return { text, to, ...PLAIN }
  }

  /** Ask, and show the answer; an answer that has been overtaken by a later question is not shown. */
  async ask(question: Question, chosen: Chosen = this.chosen): Promise<void> {
    const number = ++this.newest
    this.busy = true
    this.error = ''
    try {
      const look = await this.answers.look(question)
      if (number !== this.newest) return
      this.look = look
      this.pointed = null
      this.choose(chosen)
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
      chosen.layer = within(chosen.layer, this.layers(chosen.kind))
      chosen.head = within(chosen.head, this.machine.heads)
      chosen.source = within(chosen.source, this.look.source.tokens.length)
      chosen.step = within(chosen.step, this.look.target.tokens.length)
    }
    this.chosen = chosen
    if (this.look) remember(toAddress(this.look.question, chosen))
  }

  layers(kind: Kind): number {
    return kind === 'encoder' ? this.machine!.layers : this.machine!.decoder_layers
  }

  /** The lines of an attention map: who looks, and who is looked at. */
  rows(kind: Kind): Line {
    return kind === 'encoder' ? this.look!.source : this.look!.target
  }

  columns(kind: Kind): Line {
    return kind === 'decoder' ? this.look!.read : this.look!.source
  }

  /** The chosen row of a kind of attention: the chosen word, or the chosen time step. */
  row(kind: Kind = this.chosen.kind): number {
    return kind === 'encoder' ? this.chosen.source : this.chosen.step
  }

  chooseRow(kind: Kind, row: number): void {
    this.choose(kind === 'encoder' ? { kind, source: row } : { kind, step: row })
  }

  figures(kind: Kind, layer: number, head: number): HeadFigures | undefined {
    return this.look?.heads.find((each) => each.kind === kind && each.layer === layer && each.head === head)
  }
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
