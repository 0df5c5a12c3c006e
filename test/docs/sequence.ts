/**
 * One message of a sequence diagram, which the diagram shows as an arrow. `from` and `to` are the display names of the
 * participants.
 */
export interface Message {
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

/** The orders in which a sequence diagram allows messages to be sent. */
export type Sequence =
  | { readonly kind: 'message'; readonly message: Message }
  /** `steps`: all messages of the first part come first, then those of the second part, and so on. */
  | { readonly kind: 'steps'; readonly parts: readonly Sequence[] }
  /**
   * The sequence `par` allows the messages of all its branches. The messages of each branch keep their order, and the
   * branches mix in any way.
   */
  | { readonly kind: 'par'; readonly branches: readonly Sequence[] }
  /** The sequence `loop` allows the messages of its body, once or several times. */
  | { readonly kind: 'loop'; readonly body: Sequence }
  /** The sequence `opt` allows the messages of its body, once or not at all. */
  | { readonly kind: 'opt'; readonly body: Sequence };

/** Matches an arrow of a mermaid sequence diagram: `A->>B: text`, `B-->>A: text` or `B--xA: text`. */
const ARROW = /^(\w+)--?(?:>>|x)(\w+): (.+)$/;
const PARTICIPANT = /^(?:actor|participant) (\w+)(?: as (.+))?$/;
const BLOCK = /^(par|loop|opt)\b/;
const REMARK = /^(?:sequenceDiagram$|autonumber$|Note |%%)/;

interface OpenBlock {
  readonly kind: 'par' | 'loop' | 'opt' | 'diagram';
  /** The branches of a `par` block of a sequence diagram; any other block has exactly one branch. */
  readonly branches: Sequence[][];
}

/**
 * Parses the subset of mermaid's sequence diagrams that the documentation uses. The parser throws for an unknown line,
 * because a line that it skipped would not be tested.
 */
export function parseSequence(diagram: string): Sequence {
  const names = new Map<string, string>();
  const open: OpenBlock[] = [{ kind: 'diagram', branches: [[]] }];
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
      open.at(-1)?.branches.at(-1)?.push(closeBlock(inner));
    } else {
      fail('not understood');
    }
  }
  const [diagramItself, ...left] = open;
  if (diagramItself === undefined || left.length > 0) throw new Error('the diagram ends within a block');
  return closeBlock(diagramItself);
}

function closeBlock({ kind, branches }: OpenBlock): Sequence {
  const [only, ...others] = branches.map((parts): Sequence => ({ kind: 'steps', parts }));
  if (only === undefined) throw new Error('a block without a branch');
  if (kind === 'par') return { kind, branches: [only, ...others] };
  return kind === 'diagram' ? only : { kind, body: only };
}

/**
 * Compares the messages of a test run with a sequence diagram.
 * @returns `undefined` if the diagram allows these messages in their order, otherwise a text that shows the first
 * difference
 */
export function findDeviation(run: readonly Message[], diagram: Sequence): string | undefined {
  let states: readonly Sequence[] = [diagram];
  for (const [index, message] of run.entries()) {
    const next = distinct(states.flatMap((state) => derivative(state, message)));
    if (next.length === 0) {
      return [
        'the run:',
        ...run.slice(0, index).map((each) => `    ${messageText(each)}`),
        `  > ${messageText(message)}`,
        'the diagram has here:',
        ...describeExpected(states).map((each) => `    ${each}`),
      ].join('\n');
    }
    states = next;
  }
  if (states.some(canEnd)) return undefined;
  return [
    'the run ends, but the diagram continues with:',
    ...describeExpected(states).map((each) => `    ${each}`),
  ].join('\n');
}

const messageText = ({ from, to, text }: Message): string => `${from} → ${to}: ${text}`;

/**
 * Returns all sequences with which `sequence` can continue after it has begun with `message`. This is Brzozowski's
 * derivative, with `par` as the shuffle operator.
 */
function derivative(sequence: Sequence, message: Message): readonly Sequence[] {
  switch (sequence.kind) {
    case 'message':
      return messageText(sequence.message) === messageText(message) ? [steps([])] : [];
    case 'steps': {
      const [first, ...rest] = sequence.parts;
      if (first === undefined) return [];
      const within = derivative(first, message).map((left) => steps([left, ...rest]));
      return canEnd(first) ? [...within, ...derivative(steps(rest), message)] : within;
    }
    case 'par':
      return sequence.branches.flatMap((branch, index) =>
        derivative(branch, message).map((left): Sequence => ({
          kind: 'par',
          branches: sequence.branches.with(index, left),
        })),
      );
    case 'loop':
      return derivative(sequence.body, message).map((left) => steps([left, { kind: 'opt', body: sequence }]));
    case 'opt':
      return derivative(sequence.body, message);
  }
}

const steps = (parts: readonly Sequence[]): Sequence => ({ kind: 'steps', parts });

function canEnd(sequence: Sequence): boolean {
  switch (sequence.kind) {
    case 'message':
      return false;
    case 'steps':
      return sequence.parts.every(canEnd);
    case 'par':
      return sequence.branches.every(canEnd);
    case 'loop':
      return canEnd(sequence.body);
    case 'opt':
      return true;
  }
}

/** Lists the messages of a sequence diagram that can come first, according to its `par`, `loop` and `opt` blocks. */
function firstMessages(sequence: Sequence): readonly Message[] {
  switch (sequence.kind) {
    case 'message':
      return [sequence.message];
    case 'steps': {
      const [head, ...rest] = sequence.parts;
      if (head === undefined) return [];
      return canEnd(head) ? [...firstMessages(head), ...firstMessages(steps(rest))] : firstMessages(head);
    }
    case 'par':
      return sequence.branches.flatMap(firstMessages);
    case 'loop':
    case 'opt':
      return firstMessages(sequence.body);
  }
}

function describeExpected(states: readonly Sequence[]): readonly string[] {
  const texts = new Set(states.flatMap(firstMessages).map(messageText));
  if (states.some(canEnd)) texts.add('its end');
  return [...texts];
}

const distinct = (states: readonly Sequence[]): readonly Sequence[] => [
  ...new Map(states.map((state) => [JSON.stringify(state), state])).values(),
];
