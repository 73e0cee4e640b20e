import type { Machine } from '../types'
import { Grid } from './grid'

/** The order of the features: all sines and then all cosines, or sine and cosine in turn. The numbers are the same. */
export type Layout = 'halves' | 'interleaved'

/** What a feature of a sinusoidal encoding is: sine or cosine, and of which pair; pair i turns by base^(−2i/D). */
export interface Wave {
  wave: 'sin' | 'cos'
  pair: number
}

export function isLayout(position: Machine['position']): position is Layout {
  return position === 'halves' || position === 'interleaved'
}

export function waveOf(feature: number, width: number, layout: Layout): Wave {
  const half = width / 2
  return layout === 'halves'
    ? { wave: feature < half ? 'sin' : 'cos', pair: feature % half }
    : { wave: feature % 2 ? 'cos' : 'sin', pair: Math.floor(feature / 2) }
}

export function featureOf({ wave, pair }: Wave, width: number, layout: Layout): number {
  const cosine = wave === 'cos' ? 1 : 0
  return layout === 'halves' ? pair + (cosine * width) / 2 : 2 * pair + cosine
}

/** The place that a feature of one layout has in another. */
export function moved(feature: number, width: number, from: Layout, to: Layout): number {
  return featureOf(waveOf(feature, width, from), width, to)
}

/** The same rows with their columns in the order of another layout. */
export function laidOut(grid: Grid, from: Layout, to: Layout): Grid {
  if (from === to) return grid
  const [rows, width] = grid.shape
  const data = new Float32Array(grid.data.length)
  for (let column = 0; column < width; column++) {
    const place = moved(column, width, from, to)
    for (let row = 0; row < rows; row++) data[row * width + place] = grid.data[row * width + column]
  }
  return new Grid(grid.shape, data)
}

/** Positions until a pair has turned once: 2π · base^(2i/D), from 2π to nearly base · 2π. */
export function wavelength(pair: number, width: number, base: number): number {
  return 2 * Math.PI * base ** ((2 * pair) / width)
}

/** sin or cos of (position / base^(2i/D)), Vaswani et al. 2017, section 3.5, at any place between the positions too. */
export function formula(position: number, { wave, pair }: Wave, width: number, base: number): number {
  return Math[wave](position / base ** ((2 * pair) / width))
}

/** One column of an array: a feature over all positions. */
export function column(grid: Grid, feature: number): number[] {
  return Array.from({ length: grid.shape[0] }, (_, row) => grid.at(row, feature))
}

/** Three features worth a curve: the fastest sine, one that turns about once in the sentence, and a slow one. */
export function telling(positions: number, width: number, layout: Layout | null, base: number): number[] {
  if (!layout) return distinct([0, Math.floor(width / 3), Math.floor((2 * width) / 3)])
  const pairs = Array.from({ length: width / 2 }, (_, pair) => pair)
  const nearest = (length: number) =>
    pairs.reduce((best, pair) => {
      const off = (each: number) => Math.abs(Math.log(wavelength(each, width, base) / length))
      return off(pair) < off(best) ? pair : best
    }, 0)
  return distinct([0, nearest(positions), nearest(6 * positions)]).map((pair) =>
    featureOf({ wave: 'sin', pair }, width, layout),
  )
}

function distinct(numbers: number[]): number[] {
  return [...new Set(numbers)]
}

/** The cosine of the angle between each two rows, (N, N); 0 where a row is all zeros. */
export function similarity(grid: Grid): Grid {
  const [rows, width] = grid.shape
  const dot = (a: number, b: number) => {
    let sum = 0
    for (let i = 0; i < width; i++) sum += grid.data[a * width + i] * grid.data[b * width + i]
    return sum
  }
  const lengths = Array.from({ length: rows }, (_, row) => Math.sqrt(dot(row, row)))
  const data = new Float32Array(rows * rows)
  for (let a = 0; a < rows; a++)
    for (let b = a; b < rows; b++) {
      const size = lengths[a] * lengths[b]
      data[a * rows + b] = data[b * rows + a] = size ? dot(a, b) / size : 0
    }
  return new Grid([rows, rows], data)
}

export function isZero(grid: Grid): boolean {
  return grid.data.every((number) => number === 0)
}

/** The size that gets the full colour: all but one in a hundred numbers are smaller. Of many, a sample is asked. */
export function reach(data: Float32Array, sample = 20_000): number {
  const step = Math.max(1, Math.ceil(data.length / sample)) | 1 // odd, so that it does not stay on some features
  const sizes: number[] = []
  for (let i = 0; i < data.length; i += step) sizes.push(Math.abs(data[i]))
  sizes.sort((a, b) => a - b)
  return sizes[Math.floor(0.99 * (sizes.length - 1))] || 1
}
