import type { Calls } from './calls.ts';

/**
 * A duration of EKS operations that is longer than any test, in milliseconds. So an operation completes only when the
 * test completes it.
 */
export const HELD_MS = 3_600_000;

/**
 * The names of the AWS operations in `calls` that change AWS, in the order in which the calls arrived, e.g.
 * `DeleteRole`. Calls that AWS refused are included.
 */
export const operationsOf = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);
