import type { Look } from '../types'

/** A word that was written, and how likely it was: the product of its tokens' probabilities. */
export interface Written {
  text: string
  probability: number
  token: number // the first of its tokens, among those of the target
}

/** The words of an output, without </s>. */
export function written(look: Pick<Look, 'target' | 'steps'>): Written[] {
  return look.target.words
    .filter((word) => !word.control)
    .map((word) => ({
      text: word.text,
      probability: look.steps
        .slice(word.start, word.end)
        .reduce((product, step) => product * step.chosen.probability, 1),
      token: word.start,
    }))
}

/** The mean over all time steps of ln p(token): how sure the model was of what it wrote. */
export function sureness(look: Pick<Look, 'steps'>): number {
  const sum = look.steps.reduce((sum, step) => sum + Math.log(step.chosen.probability), 0)
  return sum / look.steps.length
}

/** The longest common subsequence, as pairs of places: what two sequences share in the same order. */
export function shared(before: readonly string[], after: readonly string[]): [number, number][] {
  const [rows, columns] = [before.length, after.length]
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width) // [i, j]: of before from i on and after from j on
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--)
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1])
  const pairs: [number, number][] = []
  for (let i = 0, j = 0; i < rows && j < columns;)
    if (before[i] === after[j]) pairs.push([i++, j++])
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++
    else j++
  return pairs
}

/** Two outputs beside each other. */
export interface Comparison {
  before: (Written & { differs: boolean })[]
  after: (Written & { differs: boolean })[]
  changed: number // words that differ, on the side that has more of them
  shift: number // mean difference of the probabilities of the words that both have
}

export function compared(before: Pick<Look, 'target' | 'steps'>, after: Pick<Look, 'target' | 'steps'>): Comparison {
  const [one, other] = [written(before), written(after)]
  const texts = (words: Written[]) => words.map((word) => word.text)
  const pairs = shared(texts(one), texts(other))
  const [left, right] = [new Set(pairs.map(([i]) => i)), new Set(pairs.map(([, j]) => j))]
  const moved = pairs.reduce((sum, [i, j]) => sum + Math.abs(one[i].probability - other[j].probability), 0)
  return {
    before: one.map((word, i) => ({ ...word, differs: !left.has(i) })),
    after: other.map((word, j) => ({ ...word, differs: !right.has(j) })),
    changed: Math.max(one.length, other.length) - pairs.length,
    shift: pairs.length ? moved / pairs.length : 0,
  }
}
