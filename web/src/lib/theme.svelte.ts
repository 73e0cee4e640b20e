import { DARK, LIGHT, type Palette } from './colour'

/** Light or dark: as the system has it, until the button is used. */
class Theme {
  dark = $state(false)
  readonly palette: Palette = $derived(this.dark ? DARK : LIGHT)

  constructor() {
    const system = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null
    this.dark = system?.matches ?? false
    system?.addEventListener('change', (event) => (this.dark = event.matches))
  }
}

export const theme = new Theme()
