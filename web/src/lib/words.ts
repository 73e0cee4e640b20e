import type { Kind } from '../types'

/** A piece as people read it: ▁ is a space, and stands before a word; a token that is only ▁ shows as ␣. */
export function spelled(piece: string): string {
  return piece === '▁' ? '␣' : piece.replaceAll('▁', '')
}

export const KIND_NAMES: Record<Kind, string> = {
  encoder: 'encoder self-attention',
  decoder: 'masked self-attention',
  cross: 'encoder–decoder attention',
}

// Made once: to make one takes longer than to use it a hundred times, and a table shows hundreds of numbers.
const formats: Intl.NumberFormat[] = []
function formatted(decimals: number): Intl.NumberFormat {
  return (formats[decimals] ??= new Intl.NumberFormat('en', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }))
}

/** A number with as many digits as help: 0.731, −12.4, 1,234. */
export function shown(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : value < 0 ? '−∞' : '–'
  const size = Math.abs(value)
  const decimals = size >= 1000 ? 0 : size >= 100 ? Math.min(1, digits) : size >= 10 ? Math.min(2, digits) : digits
  const text = formatted(decimals).format(value)
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace('-', '−')
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`
}

export function count(number: number): string {
  return number.toLocaleString('en')
}
