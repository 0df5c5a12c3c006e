/** The signals and promises that end a demo. */
export interface StopConditions {
  /** This signal is aborted at the end of the demo, so that the demo stops watching Kubernetes objects. */
  readonly signal: AbortSignal;
  /** This promise rejects when the user interrupts the demo. */
  readonly interrupt: Promise<never>;
  /**
   * A promise that resolves when the user interrupts a demo that runs until Ctrl-C. Undefined if the demo ends on its
   * own after its last step.
   */
  readonly stopped: Promise<void> | undefined;
}
