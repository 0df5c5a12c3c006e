/** One arrow of a sequence diagram. `from` and `to` are the participants as they are shown. */
export interface Message {
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

/** A sequence diagram as the set of runs that it allows. */
export type Sequence =
  | { readonly kind: 'message'; readonly message: Message }
  /** One after the other. */
  | { readonly kind: 'steps'; readonly parts: readonly Sequence[] }
  /** `par`: each in its own order, whatever the others do meanwhile. */
  | { readonly kind: 'par'; readonly branches: readonly Sequence[] }
  /** `loop`: once or more often. */
  | { readonly kind: 'loop'; readonly body: Sequence }
  /** `opt`: once or not at all. */
  | { readonly kind: 'opt'; readonly body: Sequence };

/** `A->>B: text`, `B-->>A: text` and `B--xA: text`. */
const ARROW = /^(\w+)--?(?:>>|x)(\w+): (.+)$/;
const PARTICIPANT = /^(?:actor|participant) (\w+)(?: as (.+))?$/;
const BLOCK = /^(par|loop|opt)\b/;
const REMARK = /^(?:sequenceDiagram$|autonumber$|Note |%%)/;

interface Open {
  readonly kind: 'par' | 'loop' | 'opt' | 'diagram';
  /** Of `par` one for each branch, otherwise one. */
  readonly branches: Sequence[][];
}

/**
 * Reads the part of mermaid's language for sequence diagrams that our documents use. What it does not know is an error: it
 * would stand in the document unchecked.
 */
export function parseSequence(diagram: string): Sequence {
  const names = new Map<string, string>();
  const open: Open[] = [{ kind: 'diagram', branches: [[]] }];
  for (const [index, raw] of diagram.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || REMARK.test(line)) continue;
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1} of the diagram, "${line}": ${why}`);
    };
    const inner = open.at(-1) ?? fail('more ends than beginnings');
    const [, id, shown] = PARTICIPANT.exec(line) ?? [];
    const [, from, to, text = ''] = ARROW.exec(line) ?? [];
    const [, kind] = BLOCK.exec(line) ?? [];
    if (id !== undefined) {
      names.set(id, shown ?? id);
    } else if (from !== undefined && to !== undefined) {
      const named = (each: string): string => names.get(each) ?? fail(`no participant ${each}`);
      inner.branches.at(-1)?.push({ kind: 'message', message: { from: named(from), to: named(to), text } });
    } else if (kind === 'par' || kind === 'loop' || kind === 'opt') {
      open.push({ kind, branches: [[]] });
    } else if (/^and\b/.test(line)) {
      if (inner.kind !== 'par') fail('"and" outside of "par"');
      inner.branches.push([]);
    } else if (line === 'end') {
      if (inner.kind === 'diagram') fail('more ends than beginnings');
      open.pop();
      open.at(-1)?.branches.at(-1)?.push(closed(inner));
    } else {
      fail('not understood');
    }
  }
  const [diagramItself, ...left] = open;
  if (diagramItself === undefined || left.length > 0) throw new Error('the diagram ends within a block');
  return closed(diagramItself);
}

function closed({ kind, branches }: Open): Sequence {
  const [only, ...others] = branches.map((parts): Sequence => ({ kind: 'steps', parts }));
  if (only === undefined) throw new Error('a block without a branch');
  if (kind === 'par') return { kind, branches: [only, ...others] };
  return kind === 'diagram' ? only : { kind, body: only };
}

/**
 * Whether a run is one that the diagram allows, from its beginning to its end.
 * @returns `undefined` if it is, otherwise where it leaves the diagram, in words
 */
export function deviationOf(run: readonly Message[], diagram: Sequence): string | undefined {
  let states: readonly Sequence[] = [diagram];
  for (const [index, message] of run.entries()) {
    const next = distinct(states.flatMap((state) => after(state, message)));
    if (next.length === 0) {
      return [
        'the run:',
        ...run.slice(0, index).map((each) => `    ${messageText(each)}`),
        `  > ${messageText(message)}`,
        'the diagram has here:',
        ...expected(states).map((each) => `    ${each}`),
      ].join('\n');
    }
    states = next;
  }
  if (states.some(mayEnd)) return undefined;
  return ['the run ends, and the diagram goes on with:', ...expected(states).map((each) => `    ${each}`)].join('\n');
}

const messageText = ({ from, to, text }: Message): string => `${from} → ${to}: ${text}`;

/** What may follow once `message` has come: Brzozowski's derivative, of which `par` is the shuffle. */
function after(sequence: Sequence, message: Message): readonly Sequence[] {
  switch (sequence.kind) {
    case 'message':
      return messageText(sequence.message) === messageText(message) ? [steps([])] : [];
    case 'steps': {
      const [first, ...rest] = sequence.parts;
      if (first === undefined) return [];
      const within = after(first, message).map((left) => steps([left, ...rest]));
      return mayEnd(first) ? [...within, ...after(steps(rest), message)] : within;
    }
    case 'par':
      return sequence.branches.flatMap((branch, index) =>
        after(branch, message).map((left): Sequence => ({
          kind: 'par',
          branches: sequence.branches.with(index, left),
        })),
      );
    case 'loop':
      return after(sequence.body, message).map((left) => steps([left, { kind: 'opt', body: sequence }]));
    case 'opt':
      return after(sequence.body, message);
  }
}

const steps = (parts: readonly Sequence[]): Sequence => ({ kind: 'steps', parts });

function mayEnd(sequence: Sequence): boolean {
  switch (sequence.kind) {
    case 'message':
      return false;
    case 'steps':
      return sequence.parts.every(mayEnd);
    case 'par':
      return sequence.branches.every(mayEnd);
    case 'loop':
      return mayEnd(sequence.body);
    case 'opt':
      return true;
  }
}

/** The messages that may come next. */
function openings(sequence: Sequence): readonly Message[] {
  switch (sequence.kind) {
    case 'message':
      return [sequence.message];
    case 'steps': {
      const [head, ...rest] = sequence.parts;
      if (head === undefined) return [];
      return mayEnd(head) ? [...openings(head), ...openings(steps(rest))] : openings(head);
    }
    case 'par':
      return sequence.branches.flatMap(openings);
    case 'loop':
    case 'opt':
      return openings(sequence.body);
  }
}

function expected(states: readonly Sequence[]): readonly string[] {
  const texts = new Set(states.flatMap(openings).map(messageText));
  if (states.some(mayEnd)) texts.add('its end');
  return [...texts];
}

const distinct = (states: readonly Sequence[]): readonly Sequence[] => [
  ...new Map(states.map((state) => [JSON.stringify(state), state])).values(),
];
