import type { Finding, HeadFigures, Kind, Line, Word } from '../types'
import { Grid } from './grid'

/** Square roots of shares: by them a map is shaded, so that even a small share leaves a trace on the paper. */
export function rooted(grid: Grid): Grid {
  return new Grid(grid.shape, grid.data.map(Math.sqrt))
}

/** What the mask hides of a square map, as an SVG path in cells: row r may look at columns 0 … r. */
export function staircase(size: number): string {
  if (size < 2) return ''
  let path = `M1 0H${size}V${size - 1}`
  for (let row = size - 2; row >= 0; row--) path += `H${row + 1}V${row}`
  return path + 'Z'
}

/** Which labels are shown where a cell is smaller than a label: every nth, and always those that are asked for. */
export function labelled(count: number, cell: number, least: number, always: number[]): Set<number> {
  const step = Math.max(1, Math.ceil(least / cell))
  const kept = new Set(always.filter((index) => index >= 0 && index < count))
  for (let index = 0; index < count; index += step)
    if (always.every((other) => Math.abs(other - index) >= step)) kept.add(index)
  return kept
}

/** The index that an arrow key leads to among `count` things in rows of `columns`; null for other keys and at the edge. */
export function moved(key: string, index: number, count: number, columns: number): number | null {
  const column = index % columns
  const places: Record<string, number> = {
    ArrowLeft: column > 0 ? index - 1 : -1,
    ArrowRight: column < columns - 1 ? index + 1 : -1,
    ArrowUp: index - columns,
    ArrowDown: index + columns,
    Home: 0,
    End: count - 1,
  }
  const to = places[key] ?? -1
  return to >= 0 && to < count && to !== index ? to : null
}

export type Figure = Exclude<keyof HeadFigures, 'kind' | 'layer' | 'head'>

/** The figures of a head, as people read them. For cross-attention the same place is meant, scaled to the length. */
export const FIGURES: { figure: Figure; name: string; cross?: string; unit?: string; says: string }[] = [
  { figure: 'entropy', name: 'entropy', unit: 'bits', says: '0 looks at one token only; more is spread wider' },
  { figure: 'distance', name: 'distance', unit: 'tokens', says: 'how far away it looks, on average' },
  { figure: 'self', name: 'on itself', cross: 'on the same place', says: 'share of its looks' },
  { figure: 'previous', name: 'on the previous', cross: 'on the place before', says: 'share of its looks' },
  { figure: 'next', name: 'on the next', cross: 'on the place after', says: 'share of its looks' },
  { figure: 'punctuation', name: 'on punctuation', says: 'share of its looks' },
  { figure: 'ends', name: 'on the ends', says: 'share of its looks: <s>, </s> and what else we put in' },
]

/** What heads can be ranked by. */
export const RANKINGS: { name: string; figure: Figure; least: boolean }[] = [
  { name: 'sharpest', figure: 'entropy', least: true },
  { name: 'widest', figure: 'entropy', least: false },
  { name: 'look nearest', figure: 'distance', least: true },
  { name: 'look farthest', figure: 'distance', least: false },
  { name: 'look at themselves', figure: 'self', least: false },
  { name: 'look at the previous token', figure: 'previous', least: false },
  { name: 'look at the next token', figure: 'next', least: false },
  { name: 'look at punctuation', figure: 'punctuation', least: false },
  { name: 'look at the ends', figure: 'ends', least: false },
]

/** The heads of a kind, in the order of a figure. */
export function ranked(heads: HeadFigures[], kind: Kind, figure: Figure, least: boolean): HeadFigures[] {
  const sign = least ? 1 : -1
  return heads.filter((head) => head.kind === kind).sort((one, other) => sign * (one[figure] - other[figure]))
}

/** As api/find ranks heads: weights summed over the tokens of `onto`, mean over those of `from`. Weights (L, H, R, C). */
export function bindings(weights: Grid, kind: Kind, rows: Line, columns: Line, from: number, onto: number): Finding[] {
  const [layers, heads] = weights.shape
  const found: Finding[] = []
  for (let layer = 0; layer < layers; layer++)
    for (let head = 0; head < heads; head++) {
      const map = weights.under(layer, head)
      const shares = columns.words.map((word) => share(map, rows.words[from], word))
      const rank = 1 + shares.filter((other) => other > shares[onto]).length
      found.push({ kind, layer, head, weight: shares[onto], rank })
    }
  return found.sort((one, other) => other.weight - one.weight)
}

function share(map: Grid, from: Word, onto: Word): number {
  let sum = 0
  for (let row = from.start; row < from.end; row++)
    for (let column = onto.start; column < onto.end; column++) sum += map.at(row, column)
  return sum / (from.end - from.start)
}

/** The words of a line to choose from, by their places: those of the sentence, then what we put in. */
export function wordsOf(line: Line): number[] {
  const places = line.words.map((_, place) => place)
  return [
    ...places.filter((place) => !line.words[place].control),
    ...places.filter((place) => line.words[place].control),
  ]
}

/** The pair to begin with: what *it* is, the lectures' question, or else the sentence's last word and its first. */
export function firstPair(rows: Line, columns: Line): { from: number; onto: number } {
  const place = (line: Line, ...texts: string[]) => {
    const places = texts.map((text) =>
      line.words.findIndex((word) => !word.control && word.text.toLowerCase() === text),
    )
    return places.find((found) => found >= 0)
  }
  const spoken = (line: Line) =>
    wordsOf(line).filter((each) => !line.words[each].control && /[\p{L}\p{N}]/u.test(line.words[each].text))
  return {
    from: place(rows, 'it', 'il', 'elle') ?? spoken(rows).at(-1) ?? 0,
    onto: place(columns, 'animal') ?? spoken(columns)[0] ?? 0,
  }
}
