/** The signals and promises that end a demo with a single Kubernetes object. */
export interface StopConditions {
  /** Aborted at the end of the demo, so that the demo stops watching Kubernetes objects. */
  readonly signal: AbortSignal;
  /** This promise rejects when the user interrupts the demo. */
  readonly interrupt: Promise<never>;
  /**
   * In the mode `stay`, a promise that resolves when the user interrupts the demo. Undefined in the mode `once`, which
   * ends after the last step of the demo.
   */
  readonly stopped: Promise<void> | undefined;
}
