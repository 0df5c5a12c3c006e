/** A flag of the command line. A flag without `value` is a switch. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly default?: string;
  readonly short?: string;
  readonly help: string;
  /** Whether the flag can be given several times. */
  readonly isList?: true;
  /** The variable of a release that sets the flag: config/release/kustomization.yaml. */
  readonly variable?: string;
}
