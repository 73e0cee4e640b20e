import type { Line, Look, Option, Question, Step } from '../types'
import { Grid } from './grid'
import { percent, spelled } from './words'

/** Through which heads the decoder is watched. */
export type Through = 'last' | 'layer' | 'head'

/** The mean over the heads of one layer of (L, H, rows, columns): (rows, columns). */
export function meanOfHeads(weights: Grid, layer: number): Grid {
  const [, heads, rows, columns] = weights.shape
  const mean = new Float32Array(rows * columns)
  for (let head = 0; head < heads; head++)
    weights.under(layer, head).data.forEach((weight, index) => (mean[index] += weight / heads))
  return new Grid([rows, columns], mean)
}

export function watched(weights: Grid, through: Through, layer: number, head: number): Grid {
  const last = weights.shape[0] - 1
  if (through === 'head') return weights.under(Math.min(layer, last), head)
  return meanOfHeads(weights, through === 'last' ? last : Math.min(layer, last))
}

/** The first `rows` rows and `columns` columns: what there is of a map so far. */
export function corner(grid: Grid, rows: number, columns: number): Grid {
  const data = new Float32Array(rows * columns)
  for (let row = 0; row < rows; row++) data.set(grid.row(row).subarray(0, columns), row * columns)
  return new Grid([rows, columns], data)
}

/** A line up to and without a token. */
export function upTo(line: Line, end: number): Line {
  return { tokens: line.tokens.slice(0, end), words: line.words }
}

/** The tokens that get most of a row's weight, heaviest first. */
export function heaviest(weights: ArrayLike<number>, count: number): { token: number; weight: number }[] {
  return Array.from(weights, (weight, token) => ({ token, weight }))
    .sort((one, other) => other.weight - one.weight)
    .slice(0, count)
}

/** Shades for a row of tokens: the heaviest is full, the others in proportion. */
export function shadesOf(weights: ArrayLike<number>): number[] {
  const most = Math.max(1e-9, ...Array.from(weights))
  return Array.from(weights, (weight) => weight / most)
}

/** The options of a step, with what was written among them even when it is not one of the likeliest. */
export function optionsOf(step: Step): Option[] {
  return step.options.some((option) => option.id === step.chosen.id) ? step.options : [...step.options, step.chosen]
}

/** The same question with another word at a step: all that stands before it stays. */
export function forcing(look: Look, step: number, id: number): Question {
  return { ...look.question, prefix: [...look.target.tokens.slice(0, step).map((token) => token.id), id] }
}

/** How the word of a step came about, in one sentence. */
export function verdict(step: Step, beam: boolean): string {
  const likeliest = step.options[0]
  const argmax = `The argmax is “${spelled(likeliest.piece)}”, ${percent(likeliest.probability)}`
  const same = likeliest.id === step.chosen.id
  const word = spelled(step.chosen.piece)
  if (step.forced)
    return same ? `${argmax}: the word that was given, too.` : `${argmax}, but “${word}” was given in its place.`
  if (same) return `${argmax}: it is written.`
  return beam
    ? `${argmax}, but the beam wrote “${word}”: with what follows, the whole scores higher.`
    : `${argmax}, but “${word}” was written.`
}

/** The corner above the diagonal of a square of `count` cells, `cell` wide: a staircase, as the path of an SVG. */
export function future(count: number, cell: number): string {
  if (count < 2) return ''
  let path = `M${cell} 0H${count * cell}V${(count - 1) * cell}`
  for (let row = count - 2; row >= 0; row--) path += `H${(row + 1) * cell}V${row * cell}`
  return `${path}Z`
}
