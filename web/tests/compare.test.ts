import { expect, test } from 'vitest'
import { compared, shared, sureness, written } from '../src/lib/compare'
import type { Look, Step } from '../src/types'

/** An output of words, each of as many tokens as it has probabilities, and </s>. */
function output(...words: [string, ...number[]][]): Pick<Look, 'target' | 'steps'> {
  const steps: Step[] = []
  const spelt = [...words, ['</s>', 0.9] as [string, number]].map(([text, ...probabilities]) => {
    const start = steps.length
    for (const probability of probabilities)
      steps.push({ chosen: { id: 0, piece: text, logit: 0, probability }, options: [], forced: false })
    return { text, start, end: steps.length, control: text === '</s>' }
  })
  return { target: { tokens: [], words: spelt }, steps }
}

test('what two sequences share is in the order of both', () => {
  expect(shared(['a', 'b', 'c', 'd'], ['b', 'x', 'd'])).toEqual([
    [1, 0],
    [3, 2],
  ])
  expect(shared(['a', 'b'], ['b', 'a'])).toHaveLength(1)
  expect(shared([], ['a'])).toEqual([])
  expect(shared(['a', 'a'], ['a'])).toHaveLength(1)
})

test.each([
  ['the cat sat', 'the cat sat', 3],
  ['the cat sat', 'a dog ran', 0],
  ['x a b c y', 'a b c', 3],
  ['a b c d e f', 'f e d c b a', 1],
])('%s and %s share %i words', (one, other, count) => {
  expect(shared(one.split(' '), other.split(' '))).toHaveLength(count)
})

test('a word is as likely as all its tokens together, and </s> is no word', () => {
  expect(written(output(['Bon', 0.5], ['jour', 0.5, 0.25]))).toEqual([
    { text: 'Bon', probability: 0.5, token: 0 },
    { text: 'jour', probability: 0.125, token: 1 },
  ])
})

test('sureness is the mean logarithm over all tokens, </s> among them', () => {
  expect(sureness(output(['a', 0.5, 0.25]))).toBeCloseTo((Math.log(0.5) + Math.log(0.25) + Math.log(0.9)) / 3)
})

test('words that differ are marked on their side', () => {
  const found = compared(
    output(['il', 0.8], ['est', 0.9], ['fatigué', 0.7]),
    output(['elle', 0.6], ['est', 0.5], ['fatiguée', 0.4], ['.', 0.3]),
  )
  expect(found.before.map((word) => word.differs)).toEqual([true, false, true])
  expect(found.after.map((word) => word.differs)).toEqual([true, false, true, true])
  expect(found.changed).toBe(3)
  expect(found.shift).toBeCloseTo(0.4)
})

test('the same output differs in nothing but how sure it was', () => {
  const found = compared(output(['oui', 0.75]), output(['oui', 0.25]))
  expect(found).toMatchObject({ changed: 0, shift: 0.5 })
})
