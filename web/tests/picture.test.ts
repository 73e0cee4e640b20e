import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import { named, ofWord, onPatches, onWords, patchOf, through } from '../src/lib/picture'
import type { Line, Picture } from '../src/types'

const rollout = { shape: [2, 7, 7], data: '' }
const seen: Picture = { kind: 'encoder', image: '', height: 8, width: 12, rows: 2, columns: 3, row: 1, column: 1, rollout }
/** Four tokens of text, and behind them the same picture, painted: row 3 writes the first patch, which is column 4. */
const painted: Picture = { ...seen, kind: 'decoder', row: 3, column: 4 }
const words: Line = {
  tokens: ['<s>', '▁a', 'bc', '<pad>', '#1'].map((piece, id) => ({ id, piece, word: [0, 1, 1, 2, 3][id] })),
  words: [
    { text: '<s>', start: 0, end: 1, control: true },
    { text: 'abc', start: 1, end: 3, control: false },
    { text: '<pad>', start: 3, end: 4, control: true },
    { text: '#1', start: 4, end: 5, control: false },
  ],
}

test('rows are patches from the first on', () => {
  expect([0, 1, 6, 7].map((row) => patchOf(seen, row))).toEqual([null, 0, 5, null])
  expect([2, 3, 8].map((row) => patchOf(painted, row))).toEqual([null, 0, 5])
  expect([0, 2, 3].map((patch) => named(seen, patch))).toEqual([
    'row 1, column 1',
    'row 1, column 3',
    'row 2, column 1',
  ])
  const codes = { ...painted, columns: 4 } // two of each patch
  expect([0, 3, 4].map((code) => named(codes, code))).toEqual([
    'pattern of row 1, column 1',
    'colours of row 1, column 2',
    'pattern of row 2, column 1',
  ])
})

test('a row gives its patches what stands in their columns, and the rest to words', () => {
  const row = Float32Array.from([1, 2, 4, 8, 16, 32, 64, 128, 256])
  expect([...onPatches(seen, row)]).toEqual([2, 4, 8, 16, 32, 64])
  expect([...onPatches(painted, row)]).toEqual([16, 32, 64, 128, 256, 0]) // nobody has looked at the last one
  expect(onWords(painted, words, row)).toEqual([
    { text: '<s>', start: 0, end: 1, share: 1 },
    { text: 'abc', start: 1, end: 3, share: 6 },
  ])
})

test('a word was looked at by each patch, in the row that painted it', () => {
  const grid = new Grid(
    [9, 9],
    Float32Array.from({ length: 81 }, (_, at) => at),
  )
  expect([...ofWord(painted, grid, 1, 3)]).toEqual([3, 4, 5, 6, 7, 8].map((row) => 9 * row + 1 + 9 * row + 2))
})

test('a lens shows one head, the mean of a layer, or all layers up to one', () => {
  const weights = new Grid([2, 2, 1, 2], Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7]))
  const rolled = new Grid([2, 1, 2], Float32Array.from([10, 11, 12, 13]))
  expect([...through('head', weights, rolled, 1, 0).data]).toEqual([4, 5])
  expect([...through('layer', weights, rolled, 1, 0).data]).toEqual([5, 6])
  expect([...through('rollout', weights, rolled, 1, 0).data]).toEqual([12, 13])
})
