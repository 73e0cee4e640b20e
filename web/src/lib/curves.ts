import { bisectRight, max, min } from 'd3-array'
import type { Training } from '../types'

/** A line of metrics.jsonl. */
export type Metrics = Training['lines'][number]

/** One curve: a figure by its step. */
export interface Curve {
  name: string // training, validation, BLEU …
  colour: string // a variable of style.css
  points: Point[]
}

export interface Point {
  step: number
  value: number
}

/** Several curves over one axis. */
export interface Chart {
  title: string
  says: string
  scale: 'linear' | 'log'
  curves: Curve[]
}

/**
 * The lines that count. A run that was taken up again goes on from a checkpoint, so steps that it had done since are
 * done once more: the newer line stands, and the older ones from there on are gone.
 */
export function standing(lines: readonly Metrics[]): Metrics[] {
  const kept: Metrics[] = []
  for (const line of lines) {
    if (line.step === undefined) continue
    while (kept.length && kept[kept.length - 1].step > line.step) kept.pop()
    let from = kept.length
    while (from && kept[from - 1].step === line.step) from--
    kept.push(...kept.splice(from).filter((other) => !alike(other, line)), line)
  }
  return kept
}

/** A line of training and one of validation may share a step; two of a kind may not. */
function alike(one: Metrics, other: Metrics): boolean {
  return 'loss' in one === 'loss' in other
}

export function points(
  lines: readonly Metrics[],
  key: string,
  of: (value: number) => number = (value) => value,
): Point[] {
  return lines
    .filter((line) => line[key] !== undefined)
    .map((line) => ({ step: line.step, value: of(line[key]) }))
    .filter((point) => Number.isFinite(point.value))
}

/** The four small pictures; those without a figure are left out. */
export function charts(lines: readonly Metrics[]): Chart[] {
  const [training, validation, third] = ['var(--accent)', 'var(--warm)', 'var(--good)']
  const losses = [points(lines, 'loss'), points(lines, 'valid_loss')]
  const all: Chart[] = [
    {
      title: 'Loss',
      says: 'cross-entropy of the right next token, in nats',
      scale: steep(losses),
      curves: [
        { name: 'training', colour: training, points: losses[0] },
        { name: 'validation', colour: validation, points: losses[1] },
      ],
    },
    {
      title: 'Perplexity',
      says: 'exp(loss): between how many tokens it wavers',
      scale: 'log',
      curves: [
        { name: 'training', colour: training, points: points(lines, 'loss', Math.exp) },
        { name: 'validation', colour: validation, points: points(lines, 'valid_perplexity') },
      ],
    },
    {
      title: 'BLEU and chrF',
      says: 'of the validation sentences, out of 100',
      scale: 'linear',
      curves: [
        { name: 'BLEU', colour: validation, points: points(lines, 'valid_bleu') },
        { name: 'chrF', colour: third, points: points(lines, 'valid_chrf') },
      ],
    },
    {
      title: 'Learning rate',
      says: 'how far a step goes: up in the warm-up, then down',
      scale: 'linear',
      curves: [{ name: 'rate', colour: training, points: points(lines, 'learning_rate') }],
    },
  ]
  return all
    .map((chart) => ({ ...chart, curves: chart.curves.filter((curve) => curve.points.length) }))
    .filter((chart) => chart.curves.length)
}

/** A loss that falls to a fiftieth would lie flat on the axis: then each stretch of the axis is ten times the last. */
function steep(curves: readonly Point[][]): Chart['scale'] {
  const values = curves.flat().map((point) => point.value)
  return min(values)! > 0 && max(values)! > 50 * min(values)! ? 'log' : 'linear'
}

/** The last figure up to a step, or null before the first. */
export function upTo(points: readonly Point[], step: number): Point | null {
  const after = bisectRight(
    points.map((point) => point.step),
    step,
  )
  return after ? points[after - 1] : null
}

/** At most about so many points that draw the same line: the lowest and the highest of each stretch, and the ends. */
export function thinned(points: readonly Point[], most: number): Point[] {
  if (points.length <= most) return [...points]
  const size = Math.ceil((2 * points.length) / most)
  const kept = [points[0]]
  for (let start = 1; start < points.length - 1; start += size) {
    const stretch = points.slice(start, Math.min(start + size, points.length - 1))
    const low = stretch.reduce((least, point) => (point.value < least.value ? point : least))
    const high = stretch.reduce((greatest, point) => (point.value > greatest.value ? point : greatest))
    kept.push(...(low === high ? [low] : low.step < high.step ? [low, high] : [high, low]))
  }
  return [...kept, points[points.length - 1]]
}

/** From where to where the values of a chart go; a log scale begins above 0. */
export function extent(chart: Chart): [number, number] {
  const values = chart.curves.flatMap((curve) => curve.points.map((point) => point.value))
  const [low, high] = [min(values) ?? 0, max(values) ?? 1]
  if (chart.scale === 'log') return [Math.max(low, 1e-9), Math.max(high, low * 1.1, 1e-8)]
  return [Math.min(0, low), high > Math.min(0, low) ? high : low + 1]
}

/** Labels that would lie on each other, moved apart as little as it takes, within low … high. */
export function apart(places: readonly number[], gap: number, low: number, high: number): number[] {
  const order = places.map((_, at) => at).sort((a, b) => places[a] - places[b])
  const moved = [...places]
  order.forEach((at, rank) => {
    moved[at] = Math.max(moved[at], rank ? moved[order[rank - 1]] + gap : low)
  })
  order.reverse().forEach((at, rank) => {
    moved[at] = Math.min(moved[at], rank ? moved[order[rank - 1]] - gap : high)
  })
  return moved
}
