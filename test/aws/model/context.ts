import type { Input } from './input.ts';
import type { Principal, Principals } from './sts/principals.ts';
import type { EmulatedAccount, EmulatedRegion } from './resources.ts';
import type { AwsState } from './aws-state.ts';

/**
 * What an operation of the emulated AWS gets besides its input: the state, the caller, the account, the region and the
 * time.
 */
export interface Context {
  readonly state: AwsState;
  readonly principals: Principals;
  readonly principal: Principal;
  readonly account: EmulatedAccount;
  readonly region: EmulatedRegion;
  readonly now: number;
  /** Whether the caller may do this on all resources, for what AWS does with the permissions of the caller. */
  readonly mayCaller: (action: string) => boolean;
}

export type Output = Readonly<Record<string, unknown>>;

export interface Operation {
  /**
   * Returns the ARN of the resource that the operation uses, for the authorization check and the error message of this
   * check.
   */
  readonly resource: (input: Input, context: Context) => string;
  readonly run: (input: Input, context: Context) => Output;
  /** Whether the operation changes the emulated AWS when it succeeds. */
  readonly mutates: boolean;
}

export type Operations = Readonly<Record<string, Operation>>;
