/** A flag of the command line. A flag without `value` is a switch. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly default?: string;
  readonly short?: string;
  readonly help: string;
  /** Whether all values count if the flag is given several times. Without `isList`, only the last value counts. */
  readonly isList?: true;
  /**
   * The clusterctl variable that sets this flag in an installed release. config/release/kustomization.yaml puts the
   * variable into the arguments of the manager.
   */
  readonly variable?: string;
}
