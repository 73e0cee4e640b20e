import type { Machine, Part, StackName } from '../types'

/** The drawing of the machine, in pixels from the top left corner: Vaswani et al. 2017, figure 1. */
export interface Sketch {
  width: number
  height: number
  column: number // width of a stack
  boxes: Box[]
  layers: Layer[]
  wires: Wire[]
  sums: { x: number; y: number }[] // ⊕, where a residual is added outside a norm
  memory: { x: number; y: number } | null // where the memory leaves the encoder, if another stack reads it
}

interface Place {
  x: number
  y: number
  width: number
  height: number
}

export interface Box extends Place {
  part: Part
}

/** The frame of a layer; one that is not open is a bar without boxes. */
export interface Layer extends Place {
  stack: StackName
  block: number
  open: boolean
  first: string // its first sublayer
}

export interface Wire {
  path: string
  kind: 'flow' | 'residual' | 'memory'
  to: string // the part that it leads to
  tip: boolean // whether it ends in an arrow
}

const HEIGHT: Record<Part['role'], number> = {
  embedding: 30,
  types: 26,
  summary: 26,
  position: 26,
  self: 38,
  cross: 38,
  feed: 38,
  norm: 22,
  linear: 30,
  softmax: 30,
}
const GAP = 16 // between one box and the next: an arrow
const EDGE = 12 // of a frame, above and below
const NAME = 18 // a layer’s name, in its frame
const BAR = 28 // a layer that is not open
const SUM = 14
const WIDEST = 380 // of a stack that stands alone

/** Draw from the bottom to the top, as the data flows: heights are counted upwards until `turned`. */
export function sketch(machine: Machine, width: number, open: (stack: StackName, block: number) => boolean): Sketch {
  const between = Math.max(34, Math.min(90, width * 0.13))
  const several = machine.stacks.length > 1
  const column = several ? (width - between) / 2 : Math.min(width, WIDEST)
  const left = several ? 0 : (width - column) / 2
  const columns = machine.stacks.map(
    ({ name }, at) => new Column(machine, name, left + at * (column + between), column, open),
  )
  const [first, last] = [columns[0], columns.at(-1)!]
  const middle = column + between / 2
  const memory = last.readers.map(({ name, x, y }): Line => {
    const top = first.y + EDGE
    return {
      points: [
        [first.centre, first.y],
        [first.centre, top],
        [middle, top],
        [middle, y],
        [x, y],
      ],
      kind: 'memory',
      to: name,
    }
  })
  const height = Math.max(first.y + 2 * EDGE, last.y)
  const turned = <T extends Place>(place: T): T => ({ ...place, y: height - place.y - place.height })
  return {
    width,
    height,
    column,
    boxes: columns.flatMap((each) => each.boxes).map(turned),
    layers: columns.flatMap((each) => each.layers).map(turned),
    wires: [...columns.flatMap((each) => each.lines), ...memory].map(({ points, kind, to, tip = true }) => ({
      path: 'M' + points.map(([x, y]) => `${round(x)},${round(height - y)}`).join('L'),
      kind,
      to,
      tip,
    })),
    memory: memory.length ? { x: first.centre, y: height - first.y - EDGE } : null,
    sums: columns.flatMap((each) => each.sums).map(({ x, y }) => ({ x, y: height - y })),
  }
}

interface Line {
  points: [number, number][]
  kind: Wire['kind']
  to: string
  tip?: boolean
}

/** One stack and what stands before and after it. */
class Column {
  y = 0 // how far up it is drawn
  readonly centre: number
  readonly boxes: Box[] = []
  readonly layers: Layer[] = []
  readonly lines: Line[] = []
  readonly sums: { x: number; y: number }[] = []
  readonly readers: { name: string; x: number; y: number }[] = [] // of the memory
  private readonly inset: number // of a box in its frame: room for the residual

  constructor(
    private readonly machine: Machine,
    private readonly side: StackName,
    private readonly x: number,
    private readonly width: number,
    open: (stack: StackName, block: number) => boolean,
  ) {
    this.centre = x + width / 2
    this.inset = width < 180 ? 15 : 26
    const parts = machine.parts.filter((part) => part.side === side)
    for (let at = 0; at < parts.length;) {
      const { block } = parts[at]
      if (block < 0) {
        this.arrow(parts[at].name, GAP)
        this.box(parts[at++])
        continue
      }
      const end = parts.findIndex((part, index) => index > at && part.block !== block)
      const inside = parts.slice(at, end < 0 ? parts.length : end)
      this.layer(inside, open(side, block))
      at += inside.length
    }
    if (parts.some((part) => part.stack === 'output')) this.arrow('', GAP)
  }

  private layer(parts: Part[], open: boolean): void {
    const start = this.y + GAP
    const frame = { stack: this.side, block: parts[0].block, open, x: this.x, width: this.width }
    const first = parts.find((part) => part.role !== 'norm')!.name
    if (open) {
      units(parts, this.machine.norm).forEach((unit, index) => this.unit(unit, index ? GAP : GAP + EDGE))
      const top = this.y + EDGE / 2 + NAME
      this.up(parts.at(-1)!.name, top, false)
      this.layers.push({ ...frame, first, y: start, height: top - start })
      this.y = top
    } else {
      this.arrow(first, GAP)
      this.layers.push({ ...frame, first, y: this.y, height: BAR })
      const reader = parts.find((part) => part.role === 'cross')
      if (reader) this.readers.push({ name: reader.name, x: this.x, y: this.y + BAR / 2 })
      this.y += BAR
    }
  }

  /** A sublayer with its norm on top, or below it and a sum on top; the residual goes past on the outer side. */
  private unit(parts: Part[], gap: number): void {
    const last = parts.at(-1)!.name
    this.arrow(parts[0].name, gap)
    const below = this.y - GAP / 2
    for (const part of parts) this.box(part)
    const outer = this.side === 'encoder' ? this.x + this.inset * 0.45 : this.x + this.width - this.inset * 0.45
    const edge = this.side === 'encoder' ? this.x + this.inset : this.x + this.width - this.inset
    const pre = this.machine.norm === 'pre'
    const into = pre ? this.y + SUM : this.y - HEIGHT.norm / 2
    if (pre) {
      this.sums.push({ x: this.centre, y: into })
      this.up(last, into - SUM / 2)
      this.y = into + SUM / 2
    }
    const end = pre ? this.centre + (this.side === 'encoder' ? -SUM / 2 : SUM / 2) : edge
    this.lines.push({
      points: [
        [this.centre, below],
        [outer, below],
        [outer, into],
        [end, into],
      ],
      kind: 'residual',
      to: last,
    })
  }

  private box(part: Part): void {
    const height = HEIGHT[part.role]
    const place = { x: this.x + this.inset, y: this.y, width: this.width - 2 * this.inset, height }
    if (part.role === 'cross') this.readers.push({ name: part.name, x: place.x, y: this.y + height / 2 })
    this.boxes.push({ part, ...place })
    this.y += height
  }

  private arrow(to: string, length: number): void {
    this.up(to, this.y + length)
    this.y += length
  }

  private up(to: string, end: number, tip = true): void {
    const { centre: x, y } = this
    this.lines.push({
      points: [
        [x, y],
        [x, end],
      ],
      kind: 'flow',
      to,
      tip,
    })
  }
}

/** The parts of a layer by sublayer, each with its norm. */
function units(parts: Part[], norm: Machine['norm']): Part[][] {
  const found: Part[][] = []
  for (const part of parts) {
    const begins = norm === 'pre' ? part.role === 'norm' : part.role !== 'norm'
    if (begins || !found.length) found.push([part])
    else found.at(-1)!.push(part)
  }
  return found
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}
