/** `comesLater`: EKS would start the pods on the predecessor again, because the predecessor's name comes first. */
export type DrainObstacle = 'noLabel' | 'comesLater';

/** How a drain ended. */
export interface Drained {
  readonly because: 'moved' | 'timeout' | DrainObstacle;
  readonly successor: string;
  /** The pods that EKS stops with the profile; `undefined`: their number is unknown, and `problem` says why. */
  readonly stopped?: {
    readonly count: number;
    /** How many of these pods should have been moved. */
    readonly unmoved: number;
    /** The first ones, as `<namespace>/<name>`. */
    readonly names: readonly string[];
  };
  readonly problem?: string;
}
