import type { Packed, Shares } from '../types'

/** An array of numbers with a shape; the last axis lies together. */
export class Grid {
  constructor(
    readonly shape: readonly number[],
    readonly data: Float32Array,
  ) {}

  static unpack(packed: Packed): Grid {
    return new Grid(packed.shape, new Float32Array(bytes(packed.data)))
  }

  static shares(packed: Shares): Grid {
    const data = new Float32Array(new Uint16Array(bytes(packed.data)))
    for (let at = 0; at < data.length; at++) data[at] /= 0xffff
    return new Grid(packed.shape, data)
  }

  /** One number. */
  at(...place: number[]): number {
    return this.data[this.offset(place)]
  }

  /** What lies under the first few indices: grid.under(layer, head) of (L, H, S, S) is (S, S). It shares the numbers. */
  under(...place: number[]): Grid {
    const shape = this.shape.slice(place.length)
    const start = this.offset(place)
    return new Grid(shape, this.data.subarray(start, start + product(shape)))
  }

  /** A row of numbers: the last axis under all other indices. */
  row(...place: number[]): Float32Array {
    return this.under(...place).data
  }

  private offset(place: number[]): number {
    let offset = 0
    place.forEach((index, axis) => (offset += index * product(this.shape.slice(axis + 1))))
    return offset
  }
}

function bytes(base64: string): ArrayBuffer {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes.buffer
}

function product(numbers: readonly number[]): number {
  return numbers.reduce((product, number) => product * number, 1)
}
