import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import { pointAt } from '../src/lib/point'
import type { Pointed } from '../src/lib/view.svelte'
import {
  corner,
  forcing,
  future,
  heaviest,
  meanOfHeads,
  optionsOf,
  shadesOf,
  upTo,
  verdict,
  watched,
} from '../src/lib/writing'
import type { Look, Option, Step } from '../src/types'

const grid = (shape: number[], numbers: number[]) => new Grid(shape, new Float32Array(numbers))
// (L, H, rows, columns) = (2, 2, 1, 3)
const weights = grid([2, 2, 1, 3], [1, 0, 0, 0, 1, 0, 0.5, 0.25, 0.25, 0, 0.25, 0.75])

const option = (id: number, piece: string, probability: number): Option => ({ id, piece, probability, logit: id / 10 })
const il = option(7, '▁il', 0.6)
const elle = option(8, '▁elle', 0.3)
const on = option(9, '▁on', 0.01)
const step = (chosen: Option, forced = false): Step => ({ chosen, options: [il, elle], forced })

test('a mean over heads still sums to 1', () => {
  expect([...meanOfHeads(weights, 1).data]).toEqual([0.25, 0.25, 0.5])
  expect(meanOfHeads(weights, 0).shape).toEqual([1, 3])
})

test('attention is watched through one head, one layer, or the last layer', () => {
  expect([...watched(weights, 'head', 0, 1).data]).toEqual([0, 1, 0])
  expect([...watched(weights, 'layer', 0, 1).data]).toEqual([0.5, 0.5, 0])
  expect([...watched(weights, 'last', 0, 1).data]).toEqual([0.25, 0.25, 0.5])
  expect([...watched(weights, 'head', 5, 0).data]).toEqual([0.5, 0.25, 0.25]) // the encoder may have more layers
})

test('a map grows from its corner', () => {
  const whole = grid([3, 3], [1, 0, 0, 2, 3, 0, 4, 5, 6])
  expect([...corner(whole, 2, 2).data]).toEqual([1, 0, 2, 3])
  expect(corner(whole, 1, 3).shape).toEqual([1, 3])
})

test('the future is a staircase above the diagonal', () => {
  expect(future(1, 10)).toBe('')
  expect(future(3, 10)).toBe('M10 0H30V20H20V10H10V0Z')
})

test('the heaviest come first, and the shades are in proportion', () => {
  expect(heaviest([0.1, 0.7, 0.2], 2).map(({ token }) => token)).toEqual([1, 2])
  expect(shadesOf([0.25, 0.5])).toEqual([0.5, 1])
  expect(shadesOf([0, 0])).toEqual([0, 0])
})

test('what was written is always among the options', () => {
  expect(optionsOf(step(elle))).toEqual([il, elle])
  expect(optionsOf(step(on))).toEqual([il, elle, on])
})

test('a forced word keeps all that stands before it, and the rest of the question', () => {
  const tokens = [4, 5, 6].map((id) => ({ id, piece: '', word: 0 }))
  const question = { text: 'a', to: 'fr', prefix: [4], off: ['cross.0.1'], order: null, mask: true, positions: false }
  const look = { question, target: { tokens, words: [] } } as unknown as Look
  expect(forcing(look, 2, 9)).toEqual({ ...question, prefix: [4, 5, 9] })
  expect(forcing(look, 0, 9).prefix).toEqual([9])
  expect(upTo(look.target, 2).tokens).toHaveLength(2)
})

test('it is said how a word came about', () => {
  expect(verdict(step(il), true)).toBe('The argmax is “il”, 60 %: it is written.')
  expect(verdict(step(elle), true)).toBe(
    'The argmax is “il”, 60 %, but the beam wrote “elle”: with what follows, the whole scores higher.',
  )
  expect(verdict(step(elle, true), true)).toBe('The argmax is “il”, 60 %, but “elle” was given in its place.')
  expect(verdict(step(il, true), true)).toBe('The argmax is “il”, 60 %: the word that was given, too.')
})

test('pointing at the same token again changes nothing', () => {
  const view: { pointed: Pointed | null } = { pointed: null }
  pointAt(view, 'read', 2)
  const before = view.pointed
  pointAt(view, 'read', 2)
  expect(view.pointed).toBe(before)
  pointAt(view, 'source', 2)
  expect(view.pointed).toEqual({ line: 'source', token: 2 })
  pointAt(view, 'source', null)
  expect(view.pointed).toBeNull()
})
