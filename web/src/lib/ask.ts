import type { Finding, Flow, HeadSteps, Kind, Look, Machine, Offline, Question, Training, Vectors } from '../types'

/** Who answers questions about the model: a server, or what an offline page carries. Answers are remembered. */
export interface Answers {
  machine(): Promise<Machine>
  look(question: Question): Promise<Look>
  vectors(question: Question, side: Vectors['side']): Promise<Vectors>
  head(question: Question, kind: Kind, layer: number, head: number): Promise<HeadSteps>
  flow(question: Question, stack: Flow['stack']): Promise<Flow>
  find(question: Question, kind: Kind, from: number, onto: number): Promise<Finding[]>
  training(after: number): Promise<Training>
}

export const OFFLINE = 'This page is one file without a model behind it: open it with regard explore to ask for more.'
const REMEMBERED = 60

/** The server that this page came from. */
export class Server implements Answers {
  private remembered = new Map<string, Promise<unknown>>()

  machine = () => this.get<Machine>('api/machine')
  look = (question: Question) => this.post<Look>('api/look', question)
  vectors = (question: Question, side: Vectors['side']) => this.post<Vectors>('api/vectors', { question, side })
  head = (question: Question, kind: Kind, layer: number, head: number) =>
    this.post<HeadSteps>('api/head', { question, kind, layer, head })
  flow = (question: Question, stack: Flow['stack']) => this.post<Flow>('api/flow', { question, stack })
  find = (question: Question, kind: Kind, from: number, onto: number) =>
    this.post<Finding[]>('api/find', { question, kind, from, onto })
  training = (after: number) => this.get<Training>(`api/training?after=${after}`)

  private async get<T>(path: string): Promise<T> {
    return answer(await fetch(path))
  }

  private post<T>(path: string, body: unknown): Promise<T> {
    const asked = JSON.stringify(body)
    const key = path + asked
    const known = this.remembered.get(key) as Promise<T> | undefined
    if (known) return known
    const found = fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: asked }).then(
      (response) => answer<T>(response),
    )
    found.catch(() => this.remembered.delete(key))
    this.remembered.set(key, found)
    if (this.remembered.size > REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!)
    return found
  }
}

async function answer<T>(response: Response): Promise<T> {
  const content = await response.json().catch(() => null)
  if (response.ok) return content as T
  throw new Error(content?.error ?? `the server answered ${response.status}`)
}

/** What `regard explain --out x.html` wrote down. */
export class Kept implements Answers {
  constructor(private kept: Offline) {}

  machine = async () => this.kept.machine
  look = async (question: Question) => {
    if (JSON.stringify(question) === JSON.stringify(this.kept.look.question)) return this.kept.look
    throw new Error(OFFLINE)
  }
  vectors = async (_: Question, side: Vectors['side']) => found(this.kept.vectors.find((each) => each.side === side))
  head = async (_: Question, kind: Kind, layer: number, head: number) =>
    found(this.kept.heads.find((each) => each.kind === kind && each.layer === layer && each.head === head))
  flow = async (_: Question, stack: Flow['stack']) => found(this.kept.flows.find((each) => each.stack === stack))
  find = async () => {
    throw new Error(OFFLINE)
  }
  training = async (after: number) => ({ ...this.kept.training, lines: this.kept.training.lines.slice(after) })
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error(OFFLINE)
  return value
}

/** Whoever can answer here, and the question that an offline page was made for. */
export function whoAnswers(page: Document = document): { answers: Answers; kept: Question | null } {
  const carried = page.getElementById('regard-offline')?.textContent
  if (!carried) return { answers: new Server(), kept: null }
  const offline = JSON.parse(carried) as Offline
  return { answers: new Kept(offline), kept: offline.look.question }
}
