import type { FaultKind } from '../aws/faults.ts';
import type { CallName } from './cell.ts';
import { callText } from './cell.ts';

/** What befalls one call. `kill`: the manager is killed once the call has had its effect, before it knows. */
export const FAULTS = [
  '500-before',
  '500-after',
  'no-answer-after',
  'reset',
  'reset-after',
  'throttle',
  'html-503',
  'kill',
] as const satisfies readonly (FaultKind | 'kill')[];
export type Fault = (typeof FAULTS)[number];

/** One call of one scenario, and what befalls it. */
export interface GridCell {
  readonly scenario: string;
  readonly call: CallName;
  readonly fault: Fault;
}

export const cellText = ({ scenario, call, fault }: GridCell): string => `${scenario}, ${callText(call)}, ${fault}`;

/** One cell per call and fault. `calls`: the operations of each scenario, in the order in which they were called. */
export function allCells(calls: ReadonlyMap<string, readonly string[]>): readonly GridCell[] {
  return [...calls].flatMap(([scenario, operations]) =>
    operations.flatMap((operation, index) => {
      const nth = operations.slice(0, index + 1).filter((each) => each === operation).length;
      return FAULTS.map((fault): GridCell => ({ scenario, call: { operation, nth }, fault }));
    }),
  );
}

/**
 * A part of the grid that is the same whenever the grid is: it has each fault, each operation and each scenario, and a
 * killed manager in each scenario.
 */
export function sample(cells: readonly GridCell[], seed: number): readonly GridCell[] {
  const left = shuffled(cells, seed);
  const missing = new Set(left.flatMap(featuresOf));
  const chosen: GridCell[] = [];
  while (missing.size > 0) {
    const gain = (cell: GridCell): number => featuresOf(cell).filter((feature) => missing.has(feature)).length;
    const best = left.reduce((former, cell) => (gain(cell) > gain(former) ? cell : former));
    for (const feature of featuresOf(best)) missing.delete(feature);
    chosen.push(best);
  }
  return chosen;
}

const featuresOf = ({ scenario, call, fault }: GridCell): readonly string[] => [
  `fault ${fault}`,
  `operation ${call.operation}`,
  `scenario ${scenario}`,
  ...(fault === 'kill' ? [`killed in ${scenario}`] : []),
];

function shuffled<A>(items: readonly A[], seed: number): readonly A[] {
  const draw = mulberry32(seed);
  return items
    .map((item) => ({ item, rank: draw() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** A small generator of numbers in [0, 1): https://github.com/cprosche/mulberry32 */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
