import type { Node } from '../types'

/** Where each node of a beam is drawn: its column is its time step, and no two of a column share a row. */
export interface Layout {
  columns: number[][] // the nodes of each time step, from above
  rows: Map<number, number> // of each node
  height: number // all rows
}

/**
 * What was kept or finished, in the order of their parents: so their links do not cross. The best is first among its
 * siblings, so the way to the translation is the straight line on top. A node lies at its parent's height where there
 * is room. What was dropped lies below the beam.
 */
export function lay(nodes: Node[], dropped: boolean): Layout {
  const steps: number[][] = []
  nodes.forEach((node, index) => (steps[node.step] ??= []).push(index))
  const last = (index: number) => nodes[index].fate === 'dropped'
  const order = new Map<number, number>([[-1, 0]])
  const columns = steps.map((step) => {
    const column = step.filter((index) => dropped || !last(index))
    const place = (index: number) => order.get(nodes[index].parent) ?? 0
    column.sort(
      (one, other) =>
        Number(last(one)) - Number(last(other)) ||
        place(one) - place(other) ||
        Number(nodes[other].best) - Number(nodes[one].best) ||
        nodes[other].score - nodes[one].score,
    )
    column.forEach((index, place) => order.set(index, place))
    return column
  })

  const beam = Math.max(0, ...columns.map((column) => column.filter((index) => nodes[index].fate === 'kept').length))
  let height = 0
  const rows = new Map<number, number>()
  for (const column of columns) {
    const kept = column.filter((index) => !last(index)).length
    const below = Math.max(beam, kept) // many that finish at once reach below the beam
    const places: number[] = []
    for (const index of column.slice(0, kept))
      places.push(Math.max((places.at(-1) ?? -1) + 1, rows.get(nodes[index].parent) ?? 0))
    for (let place = kept - 1, room = below - 1; place >= 0; place--, room--) {
      room = Math.min(room, places[place])
      rows.set(column[place], room)
    }
    column.slice(kept).forEach((index, place) => rows.set(index, below + place))
    height = Math.max(height, below + column.length - kept)
  }
  return { columns, rows, height }
}

/** The nodes on the way to one, from the first token on. */
export function path(nodes: Node[], index: number): number[] {
  const way: number[] = []
  for (let at = index; at >= 0; at = nodes[at].parent) way.push(at)
  return way.reverse()
}

/** The probability of a node's token after all before it: what its log-probability adds to its parent's. */
export function given(nodes: Node[], index: number): number {
  const { parent, log_probability } = nodes[index]
  return Math.exp(log_probability - (parent < 0 ? 0 : nodes[parent].log_probability))
}

/** The finished hypotheses, the best score first. */
export function finished(nodes: Node[]): number[] {
  const found = nodes.flatMap((node, index) => (node.fate === 'finished' ? [index] : []))
  return found.sort((one, other) => nodes[other].score - nodes[one].score)
}

/** What pieces spell: ▁ is a space, <0xE2> … are the bytes of a character, <s> and </s> are silent. */
export function written(pieces: string[]): string {
  let text = ''
  let bytes: number[] = []
  const spill = () => {
    text += new TextDecoder().decode(Uint8Array.from(bytes))
    bytes = []
  }
  for (const piece of pieces) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece)
    if (byte) {
      bytes.push(parseInt(byte[1], 16))
      continue
    }
    spill()
    if (piece !== '<s>' && piece !== '</s>') text += piece.replaceAll('▁', ' ')
  }
  spill()
  return text.trim()
}

/** The node that an arrow key leads to: left to the parent, right to the first that follows, up and down in the step. */
export function neighbour(nodes: Node[], layout: Layout, index: number, key: string): number | null {
  const { step, parent } = nodes[index]
  const column = layout.columns[step] ?? []
  const place = column.indexOf(index)
  const places: Record<string, number | undefined> = {
    ArrowLeft: parent,
    ArrowRight: layout.columns[step + 1]?.find((next) => nodes[next].parent === index),
    ArrowUp: column[place - 1],
    ArrowDown: column[place + 1],
    Home: path(nodes, index)[0],
  }
  const to = places[key]
  return to === undefined || to < 0 || to === index ? null : to
}
