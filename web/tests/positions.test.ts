import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import {
  column,
  featureOf,
  formula,
  isZero,
  laidOut,
  moved,
  reach,
  similarity,
  telling,
  waveOf,
  wavelength,
  type Layout,
} from '../src/lib/positions'

/** "I am a robot", d = 4, n = 100, as the lectures print it: interleaved. */
const ROBOT = [0, 1, 0, 1, 0.84, 0.54, 0.1, 1.0, 0.91, -0.42, 0.2, 0.98, 0.14, -0.99, 0.3, 0.96]
const robot = new Grid([4, 4], Float32Array.from(ROBOT))

test('the formula gives the table of the lectures', () => {
  for (let position = 0; position < 4; position++)
    for (let feature = 0; feature < 4; feature++)
      expect(formula(position, waveOf(feature, 4, 'interleaved'), 4, 100)).toBeCloseTo(ROBOT[4 * position + feature], 1)
})

test('halves holds the same numbers, all sines first', () => {
  const halves = laidOut(robot, 'interleaved', 'halves')
  const row = [...halves.row(2)].map((number) => Number(number.toFixed(2)))
  expect(row).toEqual([0.91, 0.2, -0.42, 0.98])
  expect(laidOut(halves, 'halves', 'interleaved').data).toEqual(robot.data)
  expect(laidOut(robot, 'halves', 'halves')).toBe(robot)
})

test.each<Layout>(['halves', 'interleaved'])('a feature is one wave and a wave one feature: %s', (layout) => {
  const features = Array.from({ length: 10 }, (_, feature) => feature)
  expect(features.map((feature) => featureOf(waveOf(feature, 10, layout), 10, layout))).toEqual(features)
  const other = layout === 'halves' ? 'interleaved' : 'halves'
  const there = features.map((feature) => moved(feature, 10, layout, other))
  expect([...there].sort((a, b) => a - b)).toEqual(features)
  expect(there.map((feature) => moved(feature, 10, other, layout))).toEqual(features)
})

test('wavelengths run geometrically from 2π', () => {
  expect(wavelength(0, 8, 10_000)).toBeCloseTo(2 * Math.PI)
  expect(wavelength(1, 8, 10_000)).toBeCloseTo(20 * Math.PI)
  expect(wavelength(3, 8, 10_000)).toBeCloseTo(2000 * Math.PI)
})

test('a column is a feature over all positions', () => {
  expect(column(robot, 0)).toEqual([...Float32Array.from([0, 0.84, 0.91, 0.14])])
})

test('a position is like itself, and likeness goes both ways', () => {
  const alike = similarity(robot)
  expect(alike.shape).toEqual([4, 4])
  for (let a = 0; a < 4; a++) {
    expect(alike.at(a, a)).toBeCloseTo(1)
    for (let b = 0; b < 4; b++) expect(alike.at(a, b)).toBe(alike.at(b, a))
  }
  expect(alike.at(0, 1)).toBeCloseTo((0.54 + 1) / (Math.SQRT2 * Math.hypot(0.84, 0.54, 0.1, 1)))
  expect(alike.at(0, 3)).toBeLessThan(alike.at(0, 1))
})

test('positions that are switched off are like nothing', () => {
  const none = new Grid([2, 4], new Float32Array(8))
  expect(isZero(none)).toBe(true)
  expect(isZero(robot)).toBe(false)
  expect([...similarity(none).data]).toEqual([0, 0, 0, 0])
})

test('the telling features are sines of the layout, the fastest first, and never twice', () => {
  for (const layout of ['halves', 'interleaved'] as const) {
    const waves = telling(16, 128, layout, 10_000).map((feature) => waveOf(feature, 128, layout))
    expect(waves[0]).toEqual({ wave: 'sin', pair: 0 })
    expect(waves.every(({ wave }) => wave === 'sin')).toBe(true)
    expect(Math.abs(Math.log(wavelength(waves[1].pair, 128, 10_000) / 16))).toBeLessThan(0.1)
  }
  expect(telling(3, 2, 'halves', 100)).toEqual([0])
  expect(telling(16, 128, null, 10_000)).toEqual([0, 42, 85])
})

test('the full colour leaves out one number in a hundred', () => {
  const numbers = Float32Array.from({ length: 1000 }, (_, index) => (index % 2 ? 1 : -1) * index)
  expect(reach(numbers)).toBeGreaterThan(980)
  expect(reach(numbers)).toBeLessThan(999)
  expect(reach(new Float32Array(5))).toBe(1)
  expect(reach(Float32Array.from({ length: 100_000 }, () => 3))).toBe(3)
})
