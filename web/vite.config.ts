import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// The page becomes part of the Python package; `regard explore` serves it, `regard explain` puts it into one file.
export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: './',
  build: {
    outDir: '../src/regard/insight/page',
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // a data: address would need a hole in the content security policy
    cssCodeSplit: false,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8010' } }, // npm run dev beside regard explore
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'] },
}))
