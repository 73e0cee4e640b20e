import type { Kind, Machine, Part } from '../types'
import { count } from './words'

/** The parts that the sentence visits one by one: a norm goes with the sublayer that it stands around. */
export function visits(machine: Machine): Part[] {
  return machine.parts.filter((part) => part.role !== 'norm' || part.block < 0)
}

/** The sublayer that computes an attention, by its name; "" where there is none. */
export function sublayer(machine: Machine, kind: Kind, layer: number): string {
  const stack = kind === 'encoder' ? 'encoder' : 'decoder'
  const role = kind === 'cross' ? 'cross' : 'self'
  return machine.parts.find((p) => p.stack === stack && p.block === layer && p.role === role)?.name ?? ''
}

/** Which attention a part is, or null. */
export function kindOf(part: Part): Kind | null {
  if (part.role === 'cross') return 'cross'
  return part.role === 'self' ? (part.stack as 'encoder' | 'decoder') : null
}

/** The sublayer whose residual and norm a norm belongs to; the part itself for any other. */
export function served(machine: Machine, part: Part): Part {
  if (part.role !== 'norm' || part.block < 0) return part
  const at = machine.parts.indexOf(part)
  return machine.parts[machine.norm === 'pre' ? at + 1 : at - 1] ?? part
}

/** Whether positions are added to what enters; if not, attention itself is told of them, or nothing is. */
export function isAdded(position: Machine['position']): boolean {
  return ['halves', 'interleaved', 'spread', 'learned'].includes(position)
}

/** Why nothing is added. */
export function unadded(position: Machine['position']): string {
  return position === 'none'
    ? 'Nothing is added here: this model does not know the order of its tokens.'
    : `Nothing is added here: attention itself is told where tokens stand, by ${TOLD[position] ?? position}.`
}

const TOLD: Partial<Record<Machine['position'], string>> = {
  rotary: 'turning queries and keys (rotary)',
  alibi: 'taking from each score what the distance costs (ALiBi)',
  shaw: 'learned vectors for each distance (Shaw)',
  t5: 'a learned bias for each distance (T5)',
}

/** Whether a linear layer is the one that gives the logits. */
function isLast(part: Part, machine: Machine): boolean {
  return machine.parts.filter((each) => each.role === 'linear').at(-1) === part
}

/** What stands on a box. */
export function label(part: Part, machine: Machine): string {
  switch (part.role) {
    case 'embedding':
      return machine.input === 'picture' ? 'Patches to vectors' : 'Embedding'
    case 'types':
      return '+ token types'
    case 'summary':
      return 'Class token'
    case 'position':
      return isAdded(machine.position) ? '+ positions' : 'No positions added'
    case 'self':
      return part.stack === 'decoder' ? 'Masked self-attention' : 'Self-attention'
    case 'cross':
      return 'Encoder–decoder attention'
    case 'feed':
      return 'Feed-forward'
    case 'norm':
      return machine.norm === 'post' && part.block >= 0 ? 'Add & norm' : 'Norm'
    case 'linear':
      return isLast(part, machine) ? 'Linear' : 'Dense'
    case 'softmax':
      return 'Softmax'
  }
}

/** Which part it is, for one who does not see the drawing. */
export function title(part: Part, machine: Machine): string {
  return label(part, machine).replace('+ p', 'P').replace('+ t', 'T') + where(part, machine)
}

/** Where it stands, to be read after its label. */
export function where(part: Part, machine: Machine): string {
  if (part.stack === 'output') return ''
  if (part.stack === 'input' && machine.stacks.length === 1) return ''
  if (part.stack === 'input') return part.side === 'encoder' ? ' of the source' : ' of what was written'
  return part.block < 0 ? ` of the ${part.stack}` : `, ${part.stack} layer ${part.block + 1}`
}

/** What it does, in a sentence. */
export function says(part: Part, machine: Machine): string {
  switch (part.role) {
    case 'embedding':
      return machine.input === 'picture'
        ? 'The pixels of each patch are multiplied by one matrix, the same for all: the vector that stands for it.'
        : 'Each token’s id picks one row of a table: the vector that stands for it.'
    case 'types':
      return 'The vector of its segment is added to each token: the first text’s, or the second’s.'
    case 'summary':
      return 'A learned vector stands before the patches. It looks at them all, and what it becomes is classified.'
    case 'position':
      if (!isAdded(machine.position)) return unadded(machine.position)
      return `To each vector the ${machine.position === 'learned' ? 'learned ' : ''}vector of its place is added.`
    case 'self':
      return part.stack === 'encoder'
        ? 'Each token looks at every token and takes up what it finds.'
        : 'Each token looks at itself and at those before it; the mask hides those after it.'
    case 'cross':
      return 'Queries come from below; keys and values from the memory, what left the topmost encoder layer.'
    case 'feed':
      return `${machine.gated ? 'Dense layers, one of which gates another' : 'Two dense layers'}, applied to each token for itself and alike to all.`
    case 'norm':
      return machine.norm_kind === 'rms'
        ? 'Each vector is brought to length √D, then scaled by what was learned.'
        : 'Each vector is brought to mean 0 and deviation 1, then scaled and shifted by what was learned.'
    case 'linear':
      return isLast(part, machine)
        ? `Each vector that is to be answered gets a number for each of ${count(machine.vocabulary.target)} answers: its logits.`
        : 'A dense layer of its own makes what left the stack ready for the output.'
    case 'softmax':
      return 'Logits become probabilities: positive, and 1 in sum. The answer is chosen from them.'
  }
}

export function equation(part: Part, machine: Machine): string {
  switch (part.role) {
    case 'embedding':
      if (machine.input === 'picture') return 'x = pixels · E + b'
      return machine.scaled ? 'x = √D · E[id]' : 'x = E[id]'
    case 'types':
      return 'x + S[segment]'
    case 'summary':
      return '[class; x]'
    case 'position':
      if (!isAdded(machine.position)) return 'x'
      return machine.position === 'learned' ? 'x + P[pos]' : 'x + PE(pos)'
    case 'self':
    case 'cross':
      return 'concat(softmax(Qₕ Kₕᵀ / √d) Vₕ, for each head h) Wᴼ'
    case 'feed':
      if (machine.gated) return `(${machine.activation}(x V + c) ⊙ (x W₁ + b₁)) W₂ + b₂`
      return machine.activation === 'relu'
        ? 'max(0, x W₁ + b₁) W₂ + b₂'
        : `${machine.activation.toUpperCase()}(x W₁ + b₁) W₂ + b₂`
    case 'norm':
      return machine.norm_kind === 'rms' ? 'g ⊙ x / √mean(x²)' : 'g ⊙ (x − μ) / σ + b'
    case 'linear':
      if (!isLast(part, machine)) return 'f(x W + b)'
      return part.shares ? 'logits = x Eᵀ' : 'logits = x Wᵀ'
    case 'softmax':
      return 'p(i) = exp(logitᵢ) / Σⱼ exp(logitⱼ)'
  }
}

/** The way around a sublayer, in the words of the equation. */
export function around(machine: Machine): { equation: string; says: string } {
  const norm = machine.norm_kind === 'rms' ? 'RMSNorm' : 'LayerNorm'
  return machine.norm === 'post'
    ? {
        equation: `${norm}(x + Sublayer(x))`,
        says: 'What entered is added to what the sublayer made of it, and the sum is normed.',
      }
    : {
        equation: `x + Sublayer(${norm}(x))`,
        says: 'The sublayer reads a normed copy, and what it makes of it is added to what entered.',
      }
}

/** How a part’s parameters come about, where the sizes of the machine account for them all; else "". */
export function account(part: Part, machine: Machine): string {
  const { width: D, hidden: H } = machine
  const ways: [string, number][] = []
  if (part.role === 'self' || part.role === 'cross') ways.push([`4 × (${D} × ${D} + ${D})`, 4 * (D * D + D)])
  if (part.role === 'feed') ways.push([`${D} × ${H} + ${H} + ${H} × ${D} + ${D}`, 2 * D * H + H + D])
  if (part.role === 'norm') ways.push([`2 × ${D}`, 2 * D])
  if (part.role === 'embedding' || part.role === 'linear')
    for (const V of Object.values(machine.vocabulary)) {
      ways.push([`${V} × ${D}`, V * D])
      ways.push([`${V} × ${D} + ${V}`, V * D + V])
    }
  return ways.find(([, number]) => number === part.parameters)?.[0] ?? ''
}

/** The shape of what enters and leaves. */
export function shapes(part: Part, machine: Machine, tokens: number): string {
  const { width: D, hidden: H, vocabulary, heads } = machine
  const x = `(${tokens}, ${D})`
  if (part.role === 'summary') return `(${tokens - 1}, ${D}) → ${x}`
  if (part.role === 'linear' && !isLast(part, machine)) return `${x} → ${x}`
  if (part.role === 'embedding') return `(${tokens}) → ${x}`
  if (part.role === 'feed') return `${x} → (${tokens}, ${H}) → ${x}`
  if (part.role === 'linear') return `${x} → (${tokens}, ${vocabulary.target})`
  if (part.role === 'softmax') return `(${tokens}, ${vocabulary.target}) → (${tokens}, ${vocabulary.target})`
  return `${x} → ${x}${kindOf(part) ? `, in ${heads} heads of width ${D / heads}` : ''}`
}

/** Where the parameters are; shared ones count once. */
export function totals(machine: Machine): { name: string; parameters: number }[] {
  const of = (name: string, has: (part: Part) => boolean) => ({
    name,
    parameters: machine.parts.filter(has).reduce((sum, part) => sum + part.parameters, 0),
  })
  return [
    of('embeddings', (part) => part.stack === 'input' && part.role !== 'position'),
    of('positions', (part) => part.role === 'position'),
    of('encoder', (part) => part.stack === 'encoder'),
    of('decoder', (part) => part.stack === 'decoder'),
    of('output', (part) => part.stack === 'output'),
  ].filter((each) => each.parameters > 0)
}
