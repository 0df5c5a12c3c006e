import type { ProfileIssue } from './resources.ts';

/**
 * A test's instruction to let creations or deletions of Fargate profiles fail. The profiles get the status CREATE_FAILED
 * or DELETE_FAILED.
 */
export interface PlannedFailure {
  readonly operation: 'create' | 'delete';
  /** How many creations or deletions fail; undefined: all of them. */
  readonly times?: number;
  readonly issues: readonly ProfileIssue[];
}

interface Failing {
  readonly plan: PlannedFailure;
  left: number;
}

/** The failures of Fargate profile creations and deletions that tests have ordered in advance. */
export class PlannedFailures {
  #failing: readonly Failing[] = [];

  add(plan: PlannedFailure): void {
    this.#failing = [...this.#failing, { plan, left: plan.times ?? Number.POSITIVE_INFINITY }];
  }

  clear(): void {
    this.#failing = [];
  }

  /**
   * Returns the health issues with which EKS must let this creation or deletion of a Fargate profile fail; undefined:
   * the operation succeeds.
   */
  take(operation: PlannedFailure['operation']): readonly ProfileIssue[] | undefined {
    const failing = this.#failing.find(({ plan, left }) => left > 0 && plan.operation === operation);
    if (failing === undefined) return undefined;
    failing.left -= 1;
    return failing.plan.issues;
  }
}
