import type { Kind, Look, Question } from '../types'
import { KINDS } from './address'

/** What can be changed about the machine and the sentence. */
export type Change = Pick<Question, 'off' | 'order' | 'mask' | 'positions'>

export const UNCHANGED: Change = { off: [], order: null, mask: true, positions: true }

/** A source word as it lies on the table: which it is, and whether it is left out. */
export interface Chip {
  place: number
  dropped: boolean
}

export function headName(kind: Kind, layer: number, head: number): string {
  return `${kind}.${layer}.${head}`
}

/** A head's name as people read it. */
export function headTold(name: string): string {
  const [kind, layer, head] = name.split('.')
  return `${kind} layer ${Number(layer) + 1} head ${Number(head) + 1}`
}

/** The words in an order, those that are left out each after the word that it followed. */
export function chips(order: readonly number[] | null, count: number): Chip[] {
  const table: Chip[] = (order ?? Array.from({ length: count }, (_, place) => place))
    .filter((place) => place < count)
    .map((place) => ({ place, dropped: false }))
  for (let place = 0; place < count; place++) {
    if (table.some((chip) => chip.place === place)) continue
    table.splice(table.findIndex((chip) => chip.place === place - 1) + 1, 0, { place, dropped: true })
  }
  return table
}

/** The order that chips spell; null where it is the sentence as typed. */
export function order(table: readonly Chip[]): number[] | null {
  const left = table.filter((chip) => !chip.dropped).map((chip) => chip.place)
  return left.length === table.length && left.every((place, at) => place === at) ? null : left
}

/** One chip moved by one place, or by more. */
export function moved(table: readonly Chip[], from: number, to: number): Chip[] {
  const others = table.filter((_, at) => at !== from)
  others.splice(Math.max(0, Math.min(to, others.length)), 0, table[from])
  return others
}

/** A random order (Fisher and Yates 1938) of the words that are left; those that are left out keep their places. */
export function shuffled(table: readonly Chip[], random: () => number = Math.random): Chip[] {
  const left = table.filter((chip) => !chip.dropped)
  for (let last = left.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[left[last], left[other]] = [left[other], left[last]]
  }
  return table.map((chip) => (chip.dropped ? chip : left.shift()!))
}

export function reversed(table: readonly Chip[]): Chip[] {
  return [...table].reverse()
}

/** The question that a change makes of another; equal changes make equal questions. */
export function changed(plain: Question, change: Change): Question {
  const { order, mask, positions } = change
  return { ...plain, off: [...new Set(change.off)].sort(byPlace), order, mask, positions }
}

export function changeOf({ off, order, mask, positions }: Question): Change {
  return { off: [...off].sort(byPlace), order, mask, positions }
}

export function isPlain(question: Question): boolean {
  const { prefix, off, order, mask, positions } = question
  return !prefix.length && !off.length && !order && mask && positions
}

function byPlace(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => name.split('.'))
  return KINDS.indexOf(a[0] as Kind) - KINDS.indexOf(b[0] as Kind) || +a[1] - +b[1] || +a[2] - +b[2]
}

/** A change in words. */
export function told(change: Change, words: readonly string[]): string {
  const parts: string[] = []
  if (change.off.length > 3) parts.push(`${change.off.length} heads off`)
  else if (change.off.length) parts.push(`${change.off.map(headTold).join(', ')} off`)
  if (change.order) parts.push(orderTold(change.order, words))
  if (!change.mask) parts.push('the decoder may look ahead')
  if (!change.positions) parts.push('no positions')
  return parts.join('; ') || 'nothing changed'
}

function orderTold(order: readonly number[], words: readonly string[]): string {
  const missing = words.filter((_, place) => !order.includes(place))
  const inOrder = order.every((place, at) => at === 0 || order[at - 1] < place)
  const backwards = order.length > 1 && order.every((place, at) => at === 0 || order[at - 1] > place)
  const parts: string[] = []
  if (missing.length > 4) parts.push(`without ${missing.length} words`)
  else if (missing.length) parts.push(`without ${missing.map((word) => `“${word}”`).join(', ')}`)
  if (backwards) parts.push('words reversed')
  else if (!inOrder) parts.push(`words as “${order.map((place) => words[place]).join(' ')}”`)
  return parts.join(', ')
}

/** The first source token of a word of the sentence as typed; null where the question leaves it out. */
export function sourceToken(look: Look, place: number): number | null {
  const at = look.question.order ? look.question.order.indexOf(place) : place
  return at < 0 ? null : (look.source.words[tags(look) + at]?.start ?? null)
}

/** The word of the sentence as typed that a source token belongs to; null for the tag and </s>. */
export function placeOf(look: Look, token: number): number | null {
  const at = (look.source.tokens[token]?.word ?? -1) - tags(look)
  const place = look.question.order ? look.question.order[at] : at
  return place === undefined || place < 0 || place >= look.typed.words.length ? null : place
}

function tags(look: Look): number {
  const first = look.source.words.findIndex((word) => !word.control)
  return Math.max(0, first)
}

/** What makes a question this one. */
export function keyOf(question: Question): string {
  const { text, to, prefix, off, order, mask, positions, picture } = question
  return JSON.stringify([text, to, prefix, off, order, mask, positions, picture])
}
