import type { Pointed, View } from './view.svelte'

/** Point at a token, or at none. Moving about within the same one changes nothing, so nothing is drawn again. */
export function pointAt(view: Pick<View, 'pointed'>, line: Pointed['line'], token: number | null): void {
  if (token === null) {
    if (view.pointed) view.pointed = null
  } else if (view.pointed?.line !== line || view.pointed.token !== token) view.pointed = { line, token }
}
