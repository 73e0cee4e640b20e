import { scaleLinear } from 'd3-scale'

/** Colours that hold for the colour-blind: one hue from paper to ink for shares, blue–orange for signed numbers. */
export interface Palette {
  share(value: number): string // 0 … 1
  signed(value: number): string // −1 … 1
  heads: readonly string[] // Okabe and Ito 2008, and two more; a ninth head begins anew
}

const heads = {
  light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8f7a00', '#56b4e9', '#6a3d9a', '#7f7f7f'],
  dark: ['#56b4e9', '#f0883e', '#2fc69b', '#e59ac4', '#e0c93f', '#9ad1f5', '#b493e0', '#b0b0b0'],
}

function palette(dark: boolean): Palette {
  const [paper, middle, ink] = dark ? ['#1b1e24', '#2f6fa8', '#d9efff'] : ['#ffffff', '#6aaed6', '#08306b']
  const [low, zero, high] = dark ? ['#4aa3df', '#1b1e24', '#f0883e'] : ['#2166ac', '#ffffff', '#d55e00']
  const share = scaleLinear<string>([0, 0.5, 1], [paper, middle, ink]).clamp(true)
  const signed = scaleLinear<string>([-1, 0, 1], [low, zero, high]).clamp(true)
  return { share, signed, heads: dark ? heads.dark : heads.light }
}

export const LIGHT = palette(false)
export const DARK = palette(true)

/** [red, green, blue] of what a scale gives, "rgb(…)" or "#rrggbb". */
export function channels(colour: string): [number, number, number] {
  if (colour.startsWith('#'))
    return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as [number, number, number]
  return colour.match(/\d+/g)!.slice(0, 3).map(Number) as [number, number, number]
}
