/** Scroll a box, and only it, so that one of the things in it is seen. */
export function keepInSight(box: HTMLElement | undefined, thing: HTMLElement | null | undefined): void {
  if (!box || !thing || box.scrollHeight <= box.clientHeight) return
  const [outer, inner] = [box.getBoundingClientRect(), thing.getBoundingClientRect()]
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += (inner.top + inner.bottom) / 2 - (outer.top + outer.bottom) / 2
}
