import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import {
  largest,
  looked,
  sentence,
  transposed,
  unpackHead,
  usual,
  weighted,
  withMask,
  type Head,
} from '../src/lib/steps'
import type { HeadSteps, Packed } from '../src/types'

function packed(shape: number[], numbers: number[]): Packed {
  const bytes = new Uint8Array(new Float32Array(numbers).buffer)
  return { shape, data: btoa(String.fromCharCode(...bytes)) }
}
const grid = (shape: number[], numbers: number[]) => new Grid(shape, new Float32Array(numbers))

// "Thinking Machines" of the lectures, with d = 64 told by two features: scores 112 and 96, over 8, weights .88 and .12.
const thinking: Head = {
  kind: 'encoder',
  d: 64,
  q: grid([2, 2], [1, 0, 0, 1]),
  k: grid([2, 2], [112, 0, 96, 0]),
  v: grid([2, 2], [1, 2, 10, 20]),
  scores: grid([2, 2], [112, 96, 0, 0]),
  scaled: grid([2, 2], [14, 12, 0, 0]),
  weights: grid([2, 2], [0.88, 0.12, 0.5, 0.5]),
  masked: null,
  z: grid([2, 2], [2.08, 4.16, 5.5, 11]),
}

test('a row of the table is what one word does with another', () => {
  const rows = looked(thinking, 0)
  expect(rows.map((row) => [row.score, row.scaled])).toEqual([
    [112, 14],
    [96, 12],
  ])
  expect(rows[1].weight).toBeCloseTo(0.12, 6)
  expect(rows.every((row) => !row.masked)).toBe(true)
})

test('the weighted values add up to z', () => {
  for (const row of [0, 1]) {
    const parts = weighted(thinking, row)
    thinking.z.row(row).forEach((z, feature) => {
      const sum = parts.at(0, feature) + parts.at(1, feature)
      expect(sum).toBeCloseTo(z, 5)
    })
  }
})

test('each step has its sentence, with the numbers of the row', () => {
  const say = (step: number, head = thinking) =>
    sentence(step, head, looked(head, 0), 'Thinking', ['Thinking', 'Machines'])
  expect(say(0)).toBe('“Thinking” gives a query q; each token gives a key k and a value v: 64 numbers each.')
  expect(say(1)).toContain('“Thinking” scores highest, 112.0.')
  expect(say(2)).toBe('Each score is divided by √d = √64 = 8, so that the softmax does not saturate.')
  expect(say(3)).toBe('The softmax makes weights of the scores, positive and with the sum 1. “Thinking” gets 88 %.')
  expect(say(4)).toContain('multiplied by its weight')
  expect(say(5)).toContain('Their sum is z')
  expect(say(2, { ...thinking, d: 20 })).toContain('√20 = 4.47')
})

test('what may not be looked at is neither the best nor forgotten', () => {
  const head = { ...thinking, masked: [[true, false], [false, false]] } // prettier-ignore
  const rows = looked(head, 0)
  expect(rows.map((row) => row.masked)).toEqual([true, false])
  expect(sentence(1, head, rows, 'a', ['a', 'b'])).toContain('“b” scores highest')
  expect(sentence(3, head, rows, 'a', ['a', 'b'])).toMatch(/^The token to come may not be looked at: −∞/)
  const nothing = looked({ ...head, masked: [[true, true], [false, false]] }, 0) // prettier-ignore
  expect(sentence(3, head, nothing, 'a', ['a', 'b'])).toMatch(/^The 2 tokens to come/)
})

test('a masked score is no number, the others stay', () => {
  expect([...withMask(thinking.scaled, [[false, true], [false, false]]).data]).toEqual([14, NaN, 0, 0]) // prettier-ignore
  expect(withMask(thinking.scaled, null)).toBe(thinking.scaled)
})

test('rows become columns', () => {
  const turned = transposed(grid([2, 3], [1, 2, 3, 4, 5, 6]))
  expect(turned.shape).toEqual([3, 2])
  expect([...turned.data]).toEqual([1, 4, 2, 5, 3, 6])
})

test('a scale is never zero, and one outlier does not set the colours', () => {
  expect(largest([-3, 2], [1])).toBe(3)
  expect(largest([0], [])).toBe(1)
  expect(usual(new Float32Array(0))).toBe(1)
  expect(usual(new Float32Array([...Array(99).fill(-2), 1000]))).toBe(2)
})

test('a head comes unpacked, with its width', () => {
  const one = packed([1, 1], [3])
  const steps: HeadSteps = {
    kind: 'cross',
    layer: 1,
    head: 2,
    q: packed([1, 4], [1, 2, 3, 4]),
    k: packed([1, 4], [5, 6, 7, 8]),
    v: packed([1, 4], [9, 10, 11, 12]),
    scores: one,
    scaled: one,
    masked: null,
    weights: one,
    z: packed([1, 4], [9, 10, 11, 12]),
  }
  const head = unpackHead(steps)
  expect(head.d).toBe(4)
  expect([...head.v.row(0)]).toEqual([9, 10, 11, 12])
  expect(head.kind).toBe('cross')
})
