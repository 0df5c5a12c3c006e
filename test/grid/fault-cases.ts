import type { FaultKind } from '../aws/faults.ts';
import { type NthCall, nthCallText } from './subject.ts';

/**
 * The faults that the tests inject into an AWS call. With `kill`, the test kills the manager after the call took effect
 * in AWS and before the manager gets the answer.
 */
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
export type FaultName = (typeof FAULTS)[number];

/** One AWS call of a test scenario, and the fault that the test injects into this call. */
export interface FaultCase {
  readonly scenario: string;
  readonly call: NthCall;
  readonly fault: FaultName;
}

export const faultCaseText = ({ scenario, call, fault }: FaultCase): string =>
  `${scenario}, ${nthCallText(call)}, ${fault}`;

/**
 * Returns one fault case for each pair of an AWS call and a fault. `calls` has the AWS operations of each scenario, in
 * the order of the AWS calls.
 */
export function allFaultCases(calls: ReadonlyMap<string, readonly string[]>): readonly FaultCase[] {
  return [...calls].flatMap(([scenario, operations]) =>
    operations.flatMap((operation, index) => {
      const nth = operations.slice(0, index + 1).filter((each) => each === operation).length;
      return FAULTS.map((fault): FaultCase => ({ scenario, call: { operation, nth }, fault }));
    }),
  );
}
