import type { Question } from './authorization/policy.ts';
import type { Input } from './input.ts';
import type { Principal, Principals } from './sts/principals.ts';
import type { EmulatedAccount, EmulatedRegion } from './resources.ts';
import type { AwsState } from './aws-state.ts';

/** The inputs of an emulated AWS operation besides its request: the state of AWS, the caller and the time. */
export interface Context {
  readonly state: AwsState;
  readonly principals: Principals;
  readonly principal: Principal;
  readonly account: EmulatedAccount;
  readonly region: EmulatedRegion;
  readonly now: number;
  /**
   * Whether the caller has the permission for this action on all resources. EKS does some side effects, such as reading
   * subnets, with the permissions of its caller.
   */
  readonly mayCaller: (action: string) => boolean;
  /**
   * Whether the IAM policy of all callers allows the action. Only the policy simulator of IAM asks this. Its questions
   * are not authorization checks, so they are not recorded in `PolicyCheck.asked`.
   */
  readonly isAllowedByPolicy: (question: Question) => boolean;
}

export type Output = Readonly<Record<string, unknown>>;

export interface Operation {
  /**
   * Returns the ARN of the AWS resource that the operation uses. The authorization check and its error message contain
   * this ARN.
   */
  readonly resource: (input: Input, context: Context) => string;
  readonly run: (input: Input, context: Context) => Output;
  /** Whether the operation changes the emulated AWS when it succeeds. */
  readonly mutates: boolean;
}

export type Operations = Readonly<Record<string, Operation>>;
