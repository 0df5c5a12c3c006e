/** `comesLater`: EKS would start the pods on the predecessor again, whose name comes first. */
export type DrainObstacle = 'noLabel' | 'comesLater';

/** How a drain has ended. */
export interface Drained {
  readonly because: 'moved' | 'timeout' | DrainObstacle;
  readonly successor: string;
  /** The pods that EKS stops with the profile; `undefined`: their number is not known, and `problem` says why. */
  readonly stopped?: {
    readonly count: number;
    /** Of these, the pods that would have been moved. */
    readonly unmoved: number;
    /** The first ones, as `<namespace>/<name>`. */
    readonly names: readonly string[];
  };
  readonly problem?: string;
}
