import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import type { Packed } from '../src/types'

/** As Python packs: float32, little-endian, base64. */
function packed(shape: number[], numbers: number[]): Packed {
  const bytes = new Uint8Array(new Float32Array(numbers).buffer)
  return { shape, data: btoa(String.fromCharCode(...bytes)) }
}

test('numbers come back under their indices', () => {
  const grid = Grid.unpack(packed([2, 3, 2], [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121]))
  expect(grid.at(1, 2, 0)).toBe(120)
  expect([...grid.row(0, 1)]).toEqual([10, 11])
  expect(grid.under(1).shape).toEqual([3, 2])
  expect(grid.under(1).at(0, 1)).toBe(101)
})

test('shares of 1 come back to 16 bits', () => {
  const bytes = new Uint8Array(new Uint16Array([0, 21845, 65535]).buffer)
  const grid = Grid.shares({ shape: [1, 3], data: btoa(String.fromCharCode(...bytes)) })
  expect([...grid.row(0)]).toEqual([0, Math.fround(1 / 3), 1])
})

test('an empty array has a shape all the same', () => {
  expect(Grid.unpack(packed([0, 4], [])).shape).toEqual([0, 4])
})
