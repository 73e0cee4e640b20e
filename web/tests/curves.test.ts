import { expect, test } from 'vitest'
import { apart, charts, extent, points, standing, thinned, upTo, type Metrics } from '../src/lib/curves'

test('steps that a run did twice are shown as they were done last', () => {
  const lines: Metrics[] = [
    { step: 50, loss: 3 },
    { step: 100, loss: 2 },
    { step: 100, valid_loss: 2.5 },
    { step: 150, loss: 1.9 },
    { step: 150, loss: 1.8 },
    { step: 100, loss: 2.1 },
    { step: 100, valid_loss: 2.6 },
    { step: 150, loss: 1.7 },
  ]
  expect(points(standing(lines), 'loss')).toEqual([
    { step: 50, value: 3 },
    { step: 100, value: 2.1 },
    { step: 150, value: 1.7 },
  ])
  expect(points(standing(lines), 'valid_loss')).toEqual([{ step: 100, value: 2.6 }])
})

test('a line that is no line of a step is passed over', () => {
  expect(standing([{}, { loss: 3 }, { step: 1, loss: 2 }] as Record<string, number>[])).toEqual([{ step: 1, loss: 2 }])
})

test('a run without validation has the pictures that it can have', () => {
  expect(charts([{ step: 1, loss: 2, learning_rate: 0.1 }]).map((chart) => chart.title)).toEqual([
    'Loss',
    'Perplexity',
    'Learning rate',
  ])
  expect(charts([])).toEqual([])
})

test('the perplexity of training is the exponential of its loss', () => {
  const [, perplexity] = charts([
    { step: 1, loss: 2 },
    { step: 1, valid_perplexity: 5 },
  ])
  expect(perplexity.curves.map((curve) => curve.points[0].value)).toEqual([Math.exp(2), 5])
})

test('a step has the last figure that was known there', () => {
  const curve = [
    { step: 10, value: 1 },
    { step: 20, value: 2 },
  ]
  expect([5, 10, 19, 20, 99].map((step) => upTo(curve, step)?.value)).toEqual([undefined, 1, 1, 2, 2])
})

test('thinning keeps the ends and the spikes', () => {
  const curve = Array.from({ length: 5001 }, (_, step) => ({ step, value: step === 777 ? 1e6 : Math.sin(step) }))
  const few = thinned(curve, 400)
  expect(few.length).toBeLessThanOrEqual(404)
  expect([few[0].step, few.at(-1)!.step]).toEqual([0, 5000])
  expect(few.some((point) => point.step === 777)).toBe(true)
  expect(few.every((point, at) => at === 0 || few[at - 1].step < point.step)).toBe(true)
})

test('axes hold one value as well as many', () => {
  const chart = (scale: 'linear' | 'log', ...values: number[]) => ({
    title: '',
    says: '',
    scale,
    curves: [{ name: '', colour: '', points: values.map((value, step) => ({ step, value })) }],
  })
  expect(extent(chart('linear', 0))).toEqual([0, 1])
  expect(extent(chart('linear', 2, 7, 5))).toEqual([0, 7])
  const [low, high] = extent(chart('log', 3))
  expect(low).toBe(3)
  expect(high).toBeGreaterThan(3)
})

test('labels move apart and stay inside', () => {
  expect(apart([50, 10], 14, 0, 100)).toEqual([50, 10])
  expect(apart([50, 52], 14, 0, 100)).toEqual([50, 64])
  expect(apart([98, 99], 14, 0, 100)).toEqual([86, 100])
})
