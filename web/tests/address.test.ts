import { expect, test } from 'vitest'
import { FIRST, PLAIN, fromAddress, toAddress, type Chosen } from '../src/lib/address'
import type { Question } from '../src/types'

const question: Question = {
  text: 'Où est <b>l’animal</b> & « le 50 % » #1?',
  to: 'fr',
  prefix: [7, 0, 123],
  off: ['encoder.0.3', 'cross.1.2'],
  order: [2, 0],
  mask: false,
  positions: false,
  picture: '',
}
const chosen: Chosen = { kind: 'cross', layer: 1, head: 5, source: 3, step: 9 }

test('a link gives back the whole view', () => {
  expect(fromAddress('#' + toAddress(question, chosen))).toEqual({ question, chosen })
})

test('what is as usual is not in the link', () => {
  const plain = { text: 'A dog.', to: '', ...PLAIN }
  expect(toAddress(plain, FIRST)).toBe('text=A+dog.')
  expect(fromAddress('#text=A+dog.')).toEqual({ question: plain, chosen: FIRST })
})

test('without a sentence there is nothing to show', () => {
  expect(fromAddress('')).toBeNull()
  expect(fromAddress('#kind=cross')).toBeNull()
})

test.each(['kind=evil', 'layer=-1', 'layer=1e9', 'head=NaN', 'step=99999999999', 'source=<script>'])(
  'nonsense in a link is passed over: %s',
  (nonsense) => {
    expect(fromAddress(`#text=a&${nonsense}`)?.chosen).toEqual(FIRST)
  },
)

test('heads that are no heads are left out', () => {
  expect(fromAddress('#text=a&off=encoder.0.1,__proto__,decoder.x.1&prefix=1.x.3')?.question).toMatchObject({
    off: ['encoder.0.1'],
    prefix: [1, 3],
  })
})
