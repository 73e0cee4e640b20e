import type { Kind, Question } from '../types'

/** What is looked at: which attention, which head, which word and which time step. Everything on the page follows. */
export interface Chosen {
  kind: Kind
  layer: number
  head: number
  source: number // token of the source
  step: number // time step of writing: token of the target
}

export const LONGEST = 8000 // letters of a picture that an address still holds
export const KINDS: Kind[] = ['encoder', 'decoder', 'cross']
export const PLAIN: Omit<Question, 'text' | 'to'> = {
  prefix: [],
  off: [],
  order: null,
  mask: true,
  positions: true,
  picture: '',
}
export const FIRST: Chosen = { kind: 'encoder', layer: 0, head: 0, source: 0, step: 0 }

/** A view as the fragment of an address; what is as usual is left out. */
export function toAddress(question: Question, chosen: Chosen): string {
  const parts = new URLSearchParams({ text: question.text })
  if (question.to) parts.set('to', question.to)
  if (question.prefix.length) parts.set('prefix', question.prefix.join('.'))
  if (question.off.length) parts.set('off', question.off.join(','))
  if (question.order) parts.set('order', question.order.join('.'))
  if (!question.mask) parts.set('mask', 'off')
  if (!question.positions) parts.set('positions', 'off')
  if (question.picture && question.picture.length <= LONGEST) parts.set('picture', question.picture)
  for (const [key, value] of Object.entries(chosen))
    if (value !== FIRST[key as keyof Chosen]) parts.set(key, String(value))
  return parts.toString()
}

/** The way back. Whatever someone typed there, the result is a question and a choice; null where nothing is asked. */
export function fromAddress(fragment: string): { question: Question; chosen: Chosen } | null {
  const parts = new URLSearchParams(fragment.replace(/^#/, ''))
  const text = parts.get('text') ?? ''
  const picture = parts.get('picture') ?? ''
  if (!text && !picture) return null
  const number = (key: keyof Chosen) => whole(parts.get(key)) ?? (FIRST[key] as number)
  const kind = parts.get('kind') as Kind
  return {
    question: {
      text,
      to: parts.get('to') ?? '',
      prefix: numbers(parts.get('prefix')),
      off: (parts.get('off') ?? '').split(',').filter((head) => /^(encoder|decoder|cross)\.\d+\.\d+$/.test(head)),
      order: parts.has('order') ? numbers(parts.get('order')) : null,
      mask: parts.get('mask') !== 'off',
      positions: parts.get('positions') !== 'off',
      picture: picture.startsWith('data:image/') ? picture : '',
    },
    chosen: {
      kind: KINDS.includes(kind) ? kind : FIRST.kind,
      layer: number('layer'),
      head: number('head'),
      source: number('source'),
      step: number('step'),
    },
  }
}

function numbers(text: string | null): number[] {
  return (text ?? '').split('.').flatMap((part) => whole(part) ?? [])
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}
