import { expect, test } from 'vitest'
import { Grid } from '../src/lib/grid'
import { bindings, firstPair, labelled, moved, ranked, rooted, staircase, wordsOf } from '../src/lib/heads'
import type { HeadFigures, Line } from '../src/types'

/** Words, each of so many tokens. */
function line(...words: [string, number][]): Line {
  const made: Line = { tokens: [], words: [] }
  words.forEach(([text, size], word) => {
    const start = made.tokens.length
    for (let i = 0; i < size; i++) made.tokens.push({ id: 9, piece: text, word })
    made.words.push({ text, start, end: start + size, control: text.startsWith('<') })
  })
  return made
}

test('a word looks at a word: the sum over the tokens looked at, the mean over those that look', () => {
  const rows = line(['a', 1], ['bc', 2])
  const columns = line(['x', 1], ['yz', 2], ['<s>', 1])
  const first = [1, 0, 0, 0, /**/ 0.5, 0.25, 0.125, 0.125, /**/ 0.25, 0.25, 0.25, 0.25]
  const second = [1, 0, 0, 0, /**/ 0, 0.5, 0.5, 0, /**/ 0, 0.5, 0.25, 0.25]
  const weights = new Grid([1, 2, 3, 4], new Float32Array([...first, ...second]))
  expect(bindings(weights, 'cross', rows, columns, 1, 1)).toEqual([
    { kind: 'cross', layer: 0, head: 1, weight: 0.875, rank: 1 },
    { kind: 'cross', layer: 0, head: 0, weight: 0.4375, rank: 1 },
  ])
  expect(bindings(weights, 'cross', rows, columns, 1, 2)[0]).toEqual({
    kind: 'cross',
    layer: 0,
    head: 0,
    weight: 0.1875,
    rank: 3,
  })
})

test('the first pair is it and animal where there are such words, and words that can be read elsewhere', () => {
  const english = line(['<tag>', 1], ['The', 1], ['animal', 2], ['and', 1], ['it', 1], ['.', 1], ['</s>', 1])
  const french = line(['Je', 1], ['suis', 1], ['!', 1], ['</s>', 1])
  expect(firstPair(english, english)).toEqual({ from: 4, onto: 2 })
  expect(firstPair(french, french)).toEqual({ from: 1, onto: 0 })
  expect(firstPair(line(['</s>', 1]), line(['</s>', 1]))).toEqual({ from: 0, onto: 0 })
})

test('what we put into a line comes last among its words', () => {
  expect(wordsOf(line(['<tag>', 1], ['I', 1], ['am', 1], ['</s>', 1]))).toEqual([1, 2, 0, 3])
})

test('heads are ranked by a figure, within their kind', () => {
  const figures = { distance: 0, self: 0, previous: 0, next: 0, punctuation: 0, ends: 0 }
  const heads: HeadFigures[] = [2, 1, 3].map((entropy, head) => ({
    kind: 'encoder',
    layer: 0,
    head,
    entropy,
    ...figures,
  }))
  heads.push({ kind: 'cross', layer: 0, head: 0, entropy: 0, ...figures })
  expect(ranked(heads, 'encoder', 'entropy', true).map((each) => each.head)).toEqual([1, 0, 2])
  expect(ranked(heads, 'encoder', 'entropy', false).map((each) => each.head)).toEqual([2, 0, 1])
})

test('labels thin out where they do not fit, but for those that are asked for', () => {
  expect([...labelled(4, 20, 13, [])]).toEqual([0, 1, 2, 3])
  expect([...labelled(9, 5, 13, [])].sort()).toEqual([0, 3, 6])
  expect([...labelled(9, 5, 13, [4])].sort()).toEqual([0, 4])
  expect([...labelled(9, 5, 13, [-1])].sort()).toContain(3)
})

test('arrow keys stay within the grid', () => {
  expect(moved('ArrowRight', 1, 6, 3)).toBe(2)
  expect(moved('ArrowRight', 2, 6, 3)).toBeNull()
  expect(moved('ArrowLeft', 3, 6, 3)).toBeNull()
  expect(moved('ArrowDown', 1, 6, 3)).toBe(4)
  expect(moved('ArrowUp', 1, 6, 3)).toBeNull()
  expect(moved('End', 1, 6, 3)).toBe(5)
  expect(moved('a', 1, 6, 3)).toBeNull()
})

test('shades are roots of the weights, and the stairs hide what the mask hides', () => {
  expect([...rooted(new Grid([1, 2], new Float32Array([0.25, 1]))).data]).toEqual([0.5, 1])
  expect(staircase(3)).toBe('M1 0H3V2H2V1H1V0Z')
  expect(staircase(1)).toBe('')
})
