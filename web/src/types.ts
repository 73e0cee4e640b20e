// What the page reads: the JSON of regard.insight.contract, format 2. The page computes nothing of the model's; what it
// shows of numbers came from here. Tokens, layers and heads are counted from 0 here, and from 1 where people read.

/** An array: its shape, and its numbers in the order of the last axis, as float32, little-endian, in base64. */
export interface Packed {
  shape: number[]
  data: string
}

/** An array of shares of 1: as Packed, but each share x as round(65535 x) in 16 bits. A look has a million. */
export interface Shares {
  shape: number[]
  data: string
}

/** One token, and which of its side's words it belongs to. */
export interface Token {
  id: number
  piece: string // ▁animal, <0xE2>, </s>
  word: number
}

/** A word as people read it: tokens start … end − 1. */
export interface Word {
  text: string
  start: number
  end: number
  control: boolean // <s>, </s>, >>fr<<: put in by us
}

/** A line of tokens, and the words that they spell. */
export interface Line {
  tokens: Token[]
  words: Word[]
}

export type Kind = 'encoder' | 'decoder' | 'cross'
export type Side = 'source' | 'read'
export type LineName = Side | 'target'
export type StackName = 'encoder' | 'decoder'
export type PanelName =
  'machine' | 'picture' | 'vectors' | 'steps' | 'heads' | 'writing' | 'answer' | 'beam' | 'whatif' | 'training'

/** One piece of the machine: a sublayer or what stands before and after the stacks. */
export interface Part {
  name: string // encoder.blocks.0.self_attention, as in the model; source_embedding, output …
  stack: 'input' | 'encoder' | 'decoder' | 'output'
  side: StackName // the stack that it goes with
  block: number // −1 outside the stacks
  role: 'embedding' | 'types' | 'summary' | 'position' | 'self' | 'cross' | 'feed' | 'norm' | 'linear' | 'softmax'
  parameters: number // 0 where it shares another part's, or has none
  shares: string // the part whose parameters it uses, or ""
}

/** A stack of blocks, and the line that enters it. */
export interface Stack {
  name: StackName
  layers: number
  line: Side
}

/** A kind of attention: the lines that look, and that are looked at. */
export interface Attending {
  kind: Kind
  layers: number
  rows: LineName
  columns: Side
}

/** GET api/machine: what does not depend on the sentence: what the model is, what it can be asked, what there is to show. */
export interface Machine {
  format: 2
  version: string // of regard
  name: string // of the run
  live: boolean // whether questions can be asked; an offline page only shows
  input: 'text' | 'picture' // what a question holds
  verb: string // what is done with it: Translate, Paint
  panels: PanelName[]
  changes: ('heads' | 'words' | 'positions' | 'mask')[] // what can be changed about it
  parameters: number
  stacks: Stack[]
  kinds: Attending[]
  width: number
  hidden: number
  heads: number
  norm: 'post' | 'pre'
  norm_kind: 'layer' | 'rms'
  activation: string
  gated: boolean
  scaled: boolean // embeddings are multiplied by √D
  position: 'halves' | 'interleaved' | 'spread' | 'learned' | 'rotary' | 'alibi' | 'shaw' | 't5' | 'none'
  position_base: number
  vocabulary: { source: number; target: number } // 0 where there are no ids: patches
  languages: string[] // what `to` may be; empty where there is one direction
  limit: number // source tokens at most
  parts: Part[]
  examples: string[] // sentences to begin with
}

/** A question to the model, whole: two equal questions have one answer, so a link holds nothing else. */
export interface Question {
  text: string
  to: string // "" where there is one direction
  prefix: number[] // target ids that the output must begin with: a word forced is the output so far and that word
  off: string[] // heads switched off, as kind.layer.head: encoder.0.3
  order: number[] | null // source words, by their place in the sentence as typed, that are left and in which order
  mask: boolean // false: the decoder may look ahead
  positions: boolean // false: no positional encodings
  picture: string // where a picture is asked about: an image file as data:image/…;base64,…
}

/** One continuation of an output at one time step. */
export interface Option {
  id: number
  piece: string
  logit: number
  probability: number
}

/** A time step of writing: what it chose from. */
export interface Step {
  chosen: Option
  options: Option[] // the likeliest, sorted; `chosen` may not be among them
  forced: boolean // by the question's prefix
}

/** A node of the beam: one token written after its parent. */
export interface Node {
  parent: number // index among the nodes; −1 is <s>
  step: number // 0 is the first token
  id: number
  piece: string
  log_probability: number // of all from the start to here
  score: number // that, over the length penalty
  fate: 'kept' | 'dropped' | 'finished'
  best: boolean // on the way to the translation
}

/** What one head does in this sentence: means over its rows, as shares of 1 but for the first two. */
export interface HeadFigures {
  kind: Kind
  layer: number
  head: number
  entropy: number // bits
  distance: number // tokens; for cross attention, of places scaled to the length
  self: number
  previous: number
  next: number
  punctuation: number
  ends: number // on <s>, </s> and the language tag
}

/** The picture that was seen, or painted, and which rows and columns of the maps its patches are. */
export interface Picture {
  kind: Kind
  image: string // data:image/png;base64,…
  height: number // pixels
  width: number
  rows: number // of patches
  columns: number
  row: number // of a map, that is the first patch
  column: number
  rollout: Packed // (L, R, C): how much of each column has come to each row by way of all layers up to each
}

/** POST api/look with a Question: what the first view needs. Shapes: L layers, H heads, S source, T target tokens. */
export interface Look {
  format: 2
  question: Question
  translation: string
  seconds: number
  typed: Line // the source as typed, before any `order`; without the tag
  source: Line // what the encoder reads: tag, tokens, </s>; or patches
  read: Line // what the decoder reads: <s> and all but the last of target
  target: Line // what it writes
  steps: Step[] // T: of a model that does not write, what it says of the whole or of each of `places`
  places: number[] // tokens of the source that each step is said of; none where it is of the whole
  weights: Partial<Record<Kind, Shares>> // encoder (L, H, S, S), decoder (L, H, T, T), cross (L, H, T, S)
  heads: HeadFigures[]
  beam: { width: number; length_penalty: number; nodes: Node[] } | null // null without the mask: then it is greedy
  picture: Picture | null
}

/** POST api/vectors with a Question: words to vectors. D width. */
export interface Vectors {
  side: Side
  embedding: Packed // (N, D), times √D as the model adds it
  position: Packed // (N, D)
  sum: Packed // (N, D)
}

/** POST api/head with { question, kind, layer, head }: the six steps, real numbers. d = D / H. */
export interface HeadSteps {
  kind: Kind
  layer: number
  head: number
  q: Packed // (queries, d)
  k: Packed // (keys, d)
  v: Packed // (keys, d)
  scores: Packed // (queries, keys): q · k
  scaled: Packed // over √d
  masked: boolean[][] | null // true where the row may not look, null where all may
  weights: Packed // (queries, keys)
  z: Packed // (queries, d)
}

/** POST api/flow with { question, stack }: the vector of each token after each sublayer. */
export interface Flow {
  stack: StackName
  names: string[] // of the parts, in their order; the first is the sum that enters
  states: Packed // (names, tokens, D)
}

/** POST api/find with { question, kind, from, onto }: word `from` of the rows, word `onto` of the columns. */
export interface Finding {
  kind: Kind
  layer: number
  head: number
  weight: number // summed over the tokens of `onto`, mean over those of `from`
  rank: number // of `onto` among the words that this row looks at; 1 is the first
}

/** GET api/training?after=N: lines of metrics.jsonl, from line N on. */
export interface Training {
  lines: Record<string, number>[]
  next: number
}

/** What an offline page carries in place of a server. */
export interface Offline {
  machine: Machine
  look: Look
  vectors: Vectors[]
  heads: HeadSteps[] // of all heads, or of those that fit
  flows: Flow[]
  training: Training
}
