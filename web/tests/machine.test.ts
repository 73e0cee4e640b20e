import { expect, test } from 'vitest'
import { account, around, equation, kindOf, served, shapes, sublayer, totals, visits } from '../src/lib/parts'
import { sketch } from '../src/lib/stacks'
import type { Machine, Part } from '../src/types'

const sideOf = (name: string, stack: Part['stack']) =>
  stack === 'encoder' || name.startsWith('source') ? ('encoder' as const) : ('decoder' as const)

/** A machine of 2 + 3 layers, as views.py lists its parts. */
function machine(norm: Machine['norm'] = 'post'): Machine {
  const part = (name: string, stack: Part['stack'], role: Part['role'], parameters = 0, block = -1, shares = '') =>
    ({ name, stack, side: sideOf(name, stack), role, parameters, block, shares }) satisfies Part
  const stack = (name: 'encoder' | 'decoder', layers: number) => {
    const parts: Part[] = []
    for (let block = 0; block < layers; block++)
      for (const [role, inner, count] of [
        ['self', 'self_attention', 4 * (8 * 8 + 8)],
        ['cross', 'cross_attention', 4 * (8 * 8 + 8)],
        ['feed', 'feed_forward', 2 * 8 * 20 + 20 + 8],
      ] as const) {
        if (name === 'encoder' && role === 'cross') continue
        const pair = [
          part(`${name}.blocks.${block}.${inner}`, name, role, count, block),
          part(`${name}.blocks.${block}.around_${role}.norm`, name, 'norm', 16, block),
        ]
        parts.push(...(norm === 'pre' ? pair.reverse() : pair))
      }
    return norm === 'pre' ? [...parts, part(`${name}.norm`, name, 'norm', 16)] : parts
  }
  const parts = [
    part('source_embedding', 'input', 'embedding', 50 * 8),
    part('source_position', 'input', 'position'),
    ...stack('encoder', 2),
    part('target_embedding', 'input', 'embedding', 0, -1, 'source_embedding'),
    part('target_position', 'input', 'position'),
    ...stack('decoder', 3),
    part('output', 'output', 'linear', 0, -1, 'source_embedding'),
    part('softmax', 'output', 'softmax'),
  ]
  return {
    format: 2,
    version: '',
    name: '',
    live: false,
    parameters: parts.reduce((sum, { parameters }) => sum + parameters, 0),
    input: 'text',
    verb: 'Translate',
    panels: [],
    changes: [],
    stacks: [
      { name: 'encoder', layers: 2, line: 'source' },
      { name: 'decoder', layers: 3, line: 'read' },
    ],
    kinds: [],
    width: 8,
    hidden: 20,
    heads: 2,
    norm,
    norm_kind: 'layer',
    activation: 'relu',
    gated: false,
    scaled: true,
    position: 'halves',
    position_base: 10_000,
    vocabulary: { source: 50, target: 50 },
    languages: [],
    limit: 100,
    parts,
    examples: [],
  }
}
const named = (of: Machine, name: string) => of.parts.find((part) => part.name === name)!
const all = () => true

test.each(['post', 'pre'] as const)(
  'every part of a %s-norm machine is drawn once, and none lies on another',
  (norm) => {
    const of = machine(norm)
    for (const width of [300, 620]) {
      const { boxes, height } = sketch(of, width, all)
      expect(boxes.map(({ part }) => part.name).sort()).toEqual(of.parts.map(({ name }) => name).sort())
      for (const a of boxes) {
        expect(a.x).toBeGreaterThanOrEqual(0)
        expect(a.y).toBeGreaterThanOrEqual(0)
        expect(a.x + a.width).toBeLessThanOrEqual(width)
        expect(a.y + a.height).toBeLessThanOrEqual(height)
        for (const b of boxes)
          if (a !== b)
            expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(
              true,
            )
      }
    }
  },
)

test.each(['post', 'pre'] as const)('data flows upwards in a %s-norm machine', (norm) => {
  const of = machine(norm)
  const { boxes } = sketch(of, 600, all)
  for (const side of ['encoder', 'decoder'] as const) {
    const heights = boxes.filter(({ x }) => (side === 'encoder' ? x < 300 : x >= 300)).map(({ y }) => y)
    expect(heights).toEqual([...heights].sort((a, b) => b - a))
  }
})

test('the memory goes from the top of the encoder to every decoder layer, open or not', () => {
  const of = machine()
  for (const open of [all, (_: string, block: number) => block === 1]) {
    const drawn = sketch(of, 600, open)
    const memory = drawn.wires.filter(({ kind }) => kind === 'memory')
    expect(memory.map(({ to }) => to)).toEqual([0, 1, 2].map((block) => `decoder.blocks.${block}.cross_attention`))
    const starts = memory.map(({ path }) => path.split('L')[0])
    expect(new Set(starts).size).toBe(1)
    const top = Math.min(...drawn.layers.filter(({ stack }) => stack === 'encoder').map(({ y }) => y))
    expect(Number(starts[0].split(',')[1])).toBeCloseTo(top, 0)
  }
})

test('a layer that is not open shows a bar and no boxes', () => {
  const { boxes, layers } = sketch(machine(), 600, (_, block) => block === 1)
  expect(layers.filter(({ open }) => open).map(({ block }) => block)).toEqual([1, 1])
  expect(layers).toHaveLength(5)
  expect(boxes.filter(({ part }) => part.block >= 0).every(({ part }) => part.block === 1)).toBe(true)
  expect(layers[0].first).toBe('encoder.blocks.0.self_attention')
})

test('residuals end in the norm, or in a sum of their own before the next norm', () => {
  expect(sketch(machine('post'), 600, all).sums).toHaveLength(0)
  expect(sketch(machine('pre'), 600, all).sums).toHaveLength(2 * 2 + 3 * 3)
})

test('an attention is found by its kind and layer, and a sublayer knows its kind', () => {
  const of = machine()
  expect(sublayer(of, 'encoder', 1)).toBe('encoder.blocks.1.self_attention')
  expect(sublayer(of, 'decoder', 2)).toBe('decoder.blocks.2.self_attention')
  expect(sublayer(of, 'cross', 0)).toBe('decoder.blocks.0.cross_attention')
  expect(sublayer(of, 'encoder', 2)).toBe('')
  expect(kindOf(named(of, 'decoder.blocks.2.self_attention'))).toBe('decoder')
  expect(kindOf(named(of, 'decoder.blocks.2.feed_forward'))).toBeNull()
})

test.each(['post', 'pre'] as const)('a %s-norm belongs to its own sublayer', (norm) => {
  const of = machine(norm)
  expect(served(of, named(of, 'decoder.blocks.1.around_cross.norm')).name).toBe('decoder.blocks.1.cross_attention')
  const last = named(of, 'output')
  expect(served(of, last)).toBe(last)
})

test('the sentence visits each sublayer once, inputs first and the softmax last', () => {
  const names = visits(machine()).map(({ name }) => name)
  expect(names[0]).toBe('source_embedding')
  expect(names.at(-1)).toBe('softmax')
  expect(names).toHaveLength(2 + 2 * 2 + 2 + 3 * 3 + 2)
  expect(visits(machine('pre')).filter(({ role }) => role === 'norm')).toHaveLength(2)
})

test('the totals add up to the machine', () => {
  for (const of of [machine('post'), machine('pre')]) {
    const found = totals(of)
    expect(found.map(({ name }) => name)).toEqual(['embeddings', 'encoder', 'decoder'])
    expect(found.reduce((sum, { parameters }) => sum + parameters, 0)).toBe(of.parameters)
  }
})

test('parameters are accounted for by the sizes, or not at all', () => {
  const of = machine()
  expect(account(named(of, 'encoder.blocks.0.self_attention'), of)).toBe('4 × (8 × 8 + 8)')
  expect(account(named(of, 'encoder.blocks.0.feed_forward'), of)).toBe('8 × 20 + 20 + 20 × 8 + 8')
  expect(account(named(of, 'encoder.blocks.0.around_feed.norm'), of)).toBe('2 × 8')
  expect(account(named(of, 'source_embedding'), of)).toBe('50 × 8')
  expect(account({ ...named(of, 'encoder.blocks.0.feed_forward'), parameters: 1 }, of)).toBe('')
})

test('what is said of a part follows the machine', () => {
  const of = machine()
  const feed = named(of, 'decoder.blocks.0.feed_forward')
  expect(equation(feed, of)).toBe('max(0, x W₁ + b₁) W₂ + b₂')
  expect(equation(feed, { ...of, activation: 'gelu' })).toBe('GELU(x W₁ + b₁) W₂ + b₂')
  expect(shapes(feed, of, 7)).toBe('(7, 8) → (7, 20) → (7, 8)')
  expect(shapes(named(of, 'encoder.blocks.0.self_attention'), of, 7)).toBe('(7, 8) → (7, 8), in 2 heads of width 4')
  expect(around(of).equation).toBe('LayerNorm(x + Sublayer(x))')
  expect(around(machine('pre')).equation).toBe('x + Sublayer(LayerNorm(x))')
})

test('a machine of one stack is drawn in one column, in the middle, without a memory', () => {
  const of = machine()
  const parts = of.parts.filter(({ side, role }) => side === 'decoder' && role !== 'cross')
  const alone: Machine = { ...of, parts, stacks: [{ name: 'decoder', layers: 3, line: 'read' }] }
  for (const width of [300, 620]) {
    const { boxes, memory, wires, column } = sketch(alone, width, all)
    expect(boxes.map(({ part }) => part.name)).toEqual(parts.map(({ name }) => name))
    expect(memory).toBeNull()
    expect(wires.some(({ kind }) => kind === 'memory')).toBe(false)
    expect(column).toBeLessThanOrEqual(width)
    for (const box of boxes) expect(box.x + box.width / 2).toBeCloseTo(width / 2)
  }
})
