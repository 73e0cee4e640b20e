import type { HeadSteps, Kind } from '../types'
import { Grid } from './grid'
import { percent, shown } from './words'

/** The numbers of one head, unpacked. d is the width of the head. */
export interface Head {
  kind: Kind
  d: number
  q: Grid // (queries, d)
  k: Grid // (keys, d)
  v: Grid // (keys, d)
  scores: Grid // (queries, keys)
  scaled: Grid
  weights: Grid
  masked: boolean[][] | null
  z: Grid // (queries, d)
}

/** One word that is looked at: the line of the lectures' table. */
export interface Looked {
  key: number
  score: number
  scaled: number
  masked: boolean // it may not be looked at: −∞ enters the softmax
  weight: number
}

export function unpackHead(steps: HeadSteps): Head {
  const [q, k, v, scores, scaled, weights, z] = (['q', 'k', 'v', 'scores', 'scaled', 'weights', 'z'] as const).map(
    (name) => Grid.unpack(steps[name]),
  )
  return { kind: steps.kind, d: q.shape[1], q, k, v, scores, scaled, weights, masked: steps.masked, z }
}

/** What one query does with every key. */
export function looked(head: Head, row: number): Looked[] {
  return Array.from({ length: head.k.shape[0] }, (_, key) => ({
    key,
    score: head.scores.at(row, key),
    scaled: head.scaled.at(row, key),
    masked: head.masked?.[row]?.[key] ?? false,
    weight: head.weights.at(row, key),
  }))
}

/** Each value times the weight that one query gives it: (keys, d). */
export function weighted(head: Head, row: number): Grid {
  const weights = head.weights.row(row)
  return new Grid(
    head.v.shape,
    head.v.data.map((value, index) => weights[Math.floor(index / head.v.shape[1])] * value),
  )
}

/** What each step does to this row, in one sentence. `who` asks, `names` are those looked at. */
export function sentence(step: number, head: Head, rows: Looked[], who: string, names: string[]): string {
  const root = shown(Math.sqrt(head.d), Number.isInteger(Math.sqrt(head.d)) ? 0 : 2)
  const allowed = rows.filter((row) => !row.masked)
  const best = allowed.length ? allowed.reduce((best, row) => (row.score > best.score ? row : best)) : null
  const hidden = rows.length - allowed.length
  switch (step) {
    case 0:
      return head.kind === 'cross'
        ? `“${who}” of the target gives a query q; each token of the source gives a key k and a value v: ${head.d} numbers each.`
        : `“${who}” gives a query q; each token gives a key k and a value v: ${head.d} numbers each.`
    case 1:
      return `The score of a token is q · k: multiply number by number and add up.${best ? ` Of what “${who}” may look at, “${names[best.key]}” scores highest, ${shown(best.score, 2)}.` : ''}`
    case 2:
      return `Each score is divided by √d = √${head.d} = ${root}, so that the softmax does not saturate.`
    case 3:
      return `${hidden ? `${hidden === 1 ? 'The token' : `The ${hidden} tokens`} to come may not be looked at: −∞ in place of the score. ` : ''}The softmax makes weights of the scores, positive and with the sum 1.${best ? ` “${names[best.key]}” gets ${percent(best.weight)}.` : ''}`
    case 4:
      return `Each value v is multiplied by its weight: what matters keeps its colour, the rest fades.`
    default:
      return `Their sum is z: what “${who}” takes along through this head.`
  }
}

/** The scores as they enter the softmax, with no number where a row may not look. */
export function withMask(scaled: Grid, masked: boolean[][] | null): Grid {
  if (!masked) return scaled
  const columns = scaled.shape[1]
  return new Grid(
    scaled.shape,
    scaled.data.map((value, index) => (masked[Math.floor(index / columns)][index % columns] ? NaN : value)),
  )
}

export function transposed(grid: Grid): Grid {
  const [rows, columns] = grid.shape
  const data = new Float32Array(rows * columns)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) data[column * rows + row] = grid.data[row * columns + column]
  return new Grid([columns, rows], data)
}

/** The largest size among some numbers, never 0: the length of a full bar. */
export function largest(...many: ArrayLike<number>[]): number {
  let most = 0
  for (const numbers of many)
    for (let i = 0; i < numbers.length; i++) if (Math.abs(numbers[i]) > most) most = Math.abs(numbers[i])
  return most || 1
}

/** The size that all but the largest few stay below, never 0: what gets the full colour, so that one outlier does not
 * pale the rest. */
export function usual(...many: Float32Array[]): number {
  const sizes = many.flatMap((numbers) => Array.from(numbers, Math.abs)).sort((one, other) => one - other)
  return sizes[Math.floor(0.97 * (sizes.length - 1))] || 1
}
