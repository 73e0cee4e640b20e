import { expect, test } from 'vitest'
import { finished, given, lay, neighbour, path, written } from '../src/lib/beam'
import type { Node } from '../src/types'

function node(parent: number, step: number, piece: string, score: number, fate: Node['fate'], best = false): Node {
  return { parent, step, id: 7, piece, log_probability: score * (step + 1), score, fate, best }
}

// 0 ─ 3 ─ 6✓    the best is third in the order of scores of its first step
// 1 ─ 4   7✓
// 2x  5x  8x
const NODES = [
  node(-1, 0, '▁il', -0.1, 'kept'),
  node(-1, 0, '▁el', -0.2, 'kept', true),
  node(-1, 0, '▁x', -3, 'dropped'),
  node(1, 1, 'le', -0.2, 'kept', true),
  node(0, 1, '▁est', -0.4, 'kept'),
  node(0, 1, '▁a', -2, 'dropped'),
  node(4, 2, '</s>', -0.3, 'finished'),
  node(3, 2, '</s>', -0.15, 'finished', true),
  node(3, 2, '▁y', -4, 'dropped'),
]

test('the best way is the straight line on top', () => {
  for (const dropped of [true, false]) {
    const { rows } = lay(NODES, dropped)
    expect([1, 3, 7].map((index) => rows.get(index))).toEqual([0, 0, 0])
  }
})

test('no two nodes of a step share a row, and links of what was kept do not cross', () => {
  const { columns, rows, height } = lay(NODES, true)
  expect(height).toBe(3)
  for (const column of columns) {
    const places = column.map((index) => rows.get(index)!)
    expect(new Set(places).size).toBe(column.length)
    expect(Math.max(...places)).toBeLessThan(height)
    expect([...places].sort((a, b) => a - b)).toEqual(places)
    const kept = column.filter((index) => NODES[index].fate !== 'dropped')
    const parents = kept.map((index) => rows.get(NODES[index].parent) ?? 0)
    expect([...parents].sort((a, b) => a - b)).toEqual(parents)
  }
})

test('what was dropped can be left out', () => {
  const { columns, height } = lay(NODES, false)
  expect(columns).toEqual([
    [1, 0],
    [3, 4],
    [7, 6],
  ])
  expect(height).toBe(2)
  expect(lay([], true)).toEqual({ columns: [], rows: new Map(), height: 0 })
})

test('a random beam of 100 steps lies without overlap', () => {
  let seed = 1
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647
  const nodes: Node[] = []
  let tips = [-1]
  for (let step = 0; step < 100; step++) {
    const next: number[] = []
    for (let i = 0; i < 10; i++) {
      if (i < 5) next.push(nodes.length)
      nodes.push(node(tips[Math.floor(random() * tips.length)], step, 'a', -random(), i < 5 ? 'kept' : 'dropped'))
    }
    tips = next
  }
  const { columns, rows, height } = lay(nodes, true)
  expect(height).toBe(10)
  for (const column of columns) {
    const places = column.map((index) => rows.get(index)!)
    expect(places.every((place, at) => place >= 0 && place < height && (at === 0 || place > places[at - 1]))).toBe(true)
  }
})

test('a path leads from the first token, and spells a text', () => {
  expect(path(NODES, 7)).toEqual([1, 3, 7])
  expect(written(path(NODES, 7).map((index) => NODES[index].piece))).toBe('elle')
  expect(written(['▁5', '<0xE2>', '<0x82>', '<0xAC>', '▁!', '</s>'])).toBe('5€ !')
})

test('the probability of a token is what its log-probability adds', () => {
  expect(given(NODES, 0)).toBeCloseTo(Math.exp(-0.1), 12)
  expect(given(NODES, 3)).toBeCloseTo(Math.exp(-0.4 + 0.2), 12)
})

test('hypotheses are ranked by score', () => {
  expect(finished(NODES)).toEqual([7, 6])
})

test('arrow keys walk the tree', () => {
  const layout = lay(NODES, true)
  expect(neighbour(NODES, layout, 3, 'ArrowLeft')).toBe(1)
  expect(neighbour(NODES, layout, 1, 'ArrowLeft')).toBeNull()
  expect(neighbour(NODES, layout, 3, 'ArrowRight')).toBe(7)
  expect(neighbour(NODES, layout, 7, 'ArrowRight')).toBeNull()
  expect(neighbour(NODES, layout, 1, 'ArrowDown')).toBe(0)
  expect(neighbour(NODES, layout, 1, 'ArrowUp')).toBeNull()
  expect(neighbour(NODES, layout, 7, 'Home')).toBe(1)
})
