import type { Line, Picture } from '../types'
import { Grid } from './grid'
import { meanOfHeads } from './writing'

/** Through what a picture is looked at: one head, the mean of a layer’s heads, or all layers up to one rolled out. */
export type Lens = 'head' | 'layer' | 'rollout'

/** The weights that a lens shows, (R, C). Weights (L, H, R, C), roll-out (L, R, C). */
export function through(lens: Lens, weights: Grid, rollout: Grid, layer: number, head: number): Grid {
  if (lens === 'rollout') return rollout.under(layer)
  return lens === 'head' ? weights.under(layer, head) : meanOfHeads(weights, layer)
}

/** Which patch a row of a map is; null where it is none. */
export function patchOf(picture: Picture, row: number): number | null {
  const patch = row - picture.row
  return patch >= 0 && patch < picture.rows * picture.columns ? patch : null
}

/** What a row gives each patch. Of a picture that is painted, patches to come have no column yet, or none at all. */
export function onPatches(picture: Picture, weights: Float32Array): Float32Array {
  const shares = new Float32Array(picture.rows * picture.columns)
  shares.set(weights.subarray(picture.column, picture.column + shares.length))
  return shares
}

/** A word of the text beside a picture, and what a row gives it. */
export interface Beside {
  text: string
  start: number // its tokens are start … end − 1
  end: number
  share: number
}

/** What a row gives each word that stands before the picture: those of a text, or the class token; padding is left out. */
export function onWords(picture: Picture, columns: Line, weights: Float32Array): Beside[] {
  return columns.words
    .filter((word) => word.end <= picture.column && word.text !== '<pad>')
    .map(({ text, start, end }) => ({
      text,
      start,
      end,
      share: weights.subarray(start, end).reduce((a, b) => a + b, 0),
    }))
}

/** How much each patch looked at some tokens when it was its turn: (patches). */
export function ofWord(picture: Picture, weights: Grid, start: number, end: number): Float32Array {
  return Float32Array.from({ length: picture.rows * picture.columns }, (_, patch) =>
    weights
      .row(picture.row + patch)
      .subarray(start, end)
      .reduce((a, b) => a + b, 0),
  )
}

/** A patch as people read it; one that is painted has two codes side by side, its pattern and its colours. */
export function named(picture: Picture, patch: number): string {
  const row = Math.floor(patch / picture.columns) + 1
  const column = patch % picture.columns
  if (picture.row === picture.column) return `row ${row}, column ${column + 1}`
  return `${column % 2 ? 'colours' : 'pattern'} of row ${row}, column ${Math.floor(column / 2) + 1}`
}
