import { expect, test } from 'vitest'
import * as change from '../src/lib/change'
import { PLAIN } from '../src/lib/address'
import type { Look, Question } from '../src/types'

const plain: Question = { text: 'a b c d', to: '', ...PLAIN }
const words = ['a', 'b', 'c', 'd']

test('chips spell an order, and an order lays out the same chips', () => {
  const table = change.chips([3, 1], 4)
  expect(table.map((chip) => chip.place)).toEqual([0, 3, 1, 2])
  expect(table.filter((chip) => chip.dropped).map((chip) => chip.place)).toEqual([0, 2])
  expect(change.order(table)).toEqual([3, 1])
})

test('the sentence as typed is no order', () => {
  expect(change.order(change.chips(null, 4))).toBeNull()
  expect(change.order(change.chips([0, 1, 2, 3], 4))).toBeNull()
  expect(change.order(change.chips([0, 1, 2], 4))).toEqual([0, 1, 2])
})

test('an order that names words that are not there lays out those that are', () => {
  expect(change.order(change.chips([9, 2], 4))).toEqual([2])
})

test('a chip moves past its neighbours and stops at the ends', () => {
  const table = change.chips(null, 4)
  expect(change.order(change.moved(table, 1, 2))).toEqual([0, 2, 1, 3])
  expect(change.order(change.moved(table, 3, 0))).toEqual([3, 0, 1, 2])
  expect(change.order(change.moved(table, 0, -1))).toBeNull()
  expect(change.order(change.moved(table, 3, 9))).toBeNull()
})

test('shuffling moves the words that are left, and loses none', () => {
  const table = change.chips([0, 1, 3], 4)
  const mixed = change.shuffled(table, () => 0)
  expect(mixed[2]).toEqual({ place: 2, dropped: true })
  expect(change.order(mixed)).toEqual([1, 3, 0])
  expect(change.order(change.reversed(table))).toEqual([3, 1, 0])
})

test('equal changes make equal questions', () => {
  const off = ['cross.1.0', 'encoder.0.10', 'encoder.0.2', 'encoder.0.2']
  expect(change.changed(plain, { ...change.UNCHANGED, off }).off).toEqual(['encoder.0.2', 'encoder.0.10', 'cross.1.0'])
  expect(change.changed(plain, change.UNCHANGED)).toEqual(plain)
  expect(change.isPlain(plain)).toBe(true)
  expect(change.isPlain({ ...plain, mask: false })).toBe(false)
})

test.each([
  [{}, 'nothing changed'],
  [{ off: ['encoder.0.3'] }, 'encoder layer 1 head 4 off'],
  [{ off: ['encoder.0.1', 'encoder.0.2', 'cross.0.1', 'cross.0.2'] }, '4 heads off'],
  [{ order: [0, 2, 3] }, 'without “b”'],
  [{ order: [3, 2, 1, 0] }, 'words reversed'],
  [{ order: [3, 2, 0], positions: false }, 'without “b”, words reversed; no positions'],
  [{ order: [1, 0, 2, 3], mask: false }, 'words as “b a c d”; the decoder may look ahead'],
])('%j is told in words', (some, sentence) => {
  expect(change.told({ ...change.UNCHANGED, ...some }, words)).toBe(sentence)
})

test('a word of the sentence is found among the tokens that the encoder reads, and back', () => {
  const word = (text: string, start: number, control = false) => ({ text, start, end: start + 1, control })
  const look = {
    question: { ...plain, order: [2, 0] },
    typed: { tokens: [], words: words.map((text, at) => word(text, at)) },
    source: {
      tokens: [0, 1, 2, 3].map((at) => ({ id: at, piece: '', word: at })),
      words: [word('>>fr<<', 0, true), word('c', 1), word('a', 2), word('</s>', 3, true)],
    },
  } as unknown as Look
  expect(change.sourceToken(look, 2)).toBe(1)
  expect(change.sourceToken(look, 1)).toBeNull()
  expect([0, 1, 2, 3].map((token) => change.placeOf(look, token))).toEqual([null, 2, 0, null])
})
