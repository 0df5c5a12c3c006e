/** `comesLater` means that EKS would start the pods on the predecessor again, because its name sorts first. */
export type DrainObstacle = 'noLabel' | 'comesLater';

export interface Drained {
  readonly because: 'moved' | 'timeout' | DrainObstacle;
  readonly successor: string;
  /** The pods that EKS stops with the profile. If `undefined`, `problem` says why their number is unknown. */
  readonly stopped?: {
    readonly count: number;
    /** How many of these pods should have been moved. */
    readonly unmoved: number;
    /** The first ones, as `<namespace>/<name>`. */
    readonly names: readonly string[];
  };
  readonly problem?: string;
}
