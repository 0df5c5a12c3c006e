import type { Config } from './config.ts';
import type { Context, Operation, Operations, Output } from './context.ts';
import { ec2Operations } from './ec2.ts';
import { accessEntryOperations } from './eks/access-entries.ts';
import { clusterOperations } from './eks/clusters.ts';
import { profileOperations } from './eks/profiles.ts';
import { tagOperations } from './eks/tags.ts';
import type { ModelEnv } from './env.ts';
import { AwsError } from './errors.ts';
import { instanceProfileOperations } from './iam/instance-profiles.ts';
import { type PolicyStatement, type Question, isAllowed } from './authorization/policy.ts';
import { type AuthorizedCall, questionsAbout } from './authorization/questions.ts';
import { policyOperations } from './iam/policies.ts';
import { roleOperations } from './iam/roles.ts';
import { simulationOperations } from './iam/simulation.ts';
import type { Input } from './input.ts';
import { type Principal, type Service, Principals, missingAllow } from './sts/principals.ts';
import { cloudWatchOperations, serviceQuotasOperations } from './quota-and-usage.ts';
import { stsOperations } from './sts/sts.ts';
import { Throttle } from './throttle.ts';
import { AwsState } from './aws-state.ts';

const operations: Readonly<Record<Service, Operations>> = {
  eks: { ...clusterOperations, ...profileOperations, ...accessEntryOperations, ...tagOperations },
  iam: { ...roleOperations, ...policyOperations, ...instanceProfileOperations, ...simulationOperations },
  sts: stsOperations,
  ec2: ec2Operations,
  servicequotas: serviceQuotasOperations,
  cloudwatch: cloudWatchOperations,
};

/**
 * One AWS call of an authenticated principal. The time `now` is in milliseconds since the epoch and never decreases.
 */
export interface ModelCall {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly principal: Principal;
  readonly region: string;
  readonly now: number;
}

export type ModelAnswer =
  { readonly kind: 'output'; readonly output: Output } | { readonly kind: 'error'; readonly error: AwsError };

export function findOperation(service: Service, operation: string): Operation | undefined {
  return Object.hasOwn(operations[service], operation) ? operations[service][operation] : undefined;
}

/**
 * The behavior of AWS as a function of operation, input, caller and time. This class has no clock, timer or source of
 * randomness of its own, so that a test controls them.
 */
export class Model {
  readonly state: AwsState;
  readonly principals: Principals;
  /** The IAM policy that all EKS and IAM calls must satisfy; undefined: only the denials of tests limit the callers. */
  policyCheck: PolicyCheck | undefined;
  readonly #throttle = new Throttle();

  constructor(env: ModelEnv, config: Config) {
    this.state = new AwsState(config, env);
    this.principals = new Principals(env);
  }

  execute(call: ModelCall): ModelAnswer {
    try {
      return { kind: 'output', output: this.#run(call) };
    } catch (error) {
      if (error instanceof AwsError) return { kind: 'error', error };
      throw error;
    }
  }

  #checkPolicy(call: AuthorizedCall & Pick<ModelCall, 'principal'>, context: Context): void {
    if (this.policyCheck === undefined) return;
    for (const question of questionsAbout(call, context)) {
      const { action, resource } = question;
      if (!this.#isAllowedByPolicy(question)) throw missingAllow(call.service, call.principal, action, resource);
    }
  }

  #isAllowedByPolicy(question: Question): boolean {
    const { policyCheck } = this;
    if (policyCheck === undefined) return true;
    policyCheck.asked.push(question);
    return isAllowed(policyCheck.policy, question);
  }

  #run(call: ModelCall): Output {
    const { service, principal, now } = call;
    const operation = findOperation(service, call.operation);
    if (operation === undefined) throw unknownOperation(service, call.operation);
    this.#throttle.check(call, this.state.config.throttle);
    const account = this.state.account(principal.account, principal.partition);
    const context: Context = {
      state: this.state,
      principals: this.principals,
      principal,
      account,
      region: this.state.region(account, call.region),
      now,
      mayCaller: (action) =>
        !this.principals.isDenied(principal, action, '*') &&
        this.#isAllowedByPolicy({ action, resource: '*', context: {} }),
      isAllowedByPolicy: (question) => this.policyCheck === undefined || isAllowed(this.policyCheck.policy, question),
    };
    if (call.operation !== 'GetCallerIdentity') {
      const action = `${service}:${call.operation}`;
      const resource = operation.resource(call.input, context);
      this.principals.authorize(service, principal, action, resource);
      if (service !== 'sts') this.#checkPolicy({ ...call, resource }, context);
    }
    return operation.run(call.input, context);
  }
}

/**
 * An IAM policy that applies to all callers. The emulated AWS records in `asked` each authorization check of an EKS or
 * IAM call against this policy.
 */
export interface PolicyCheck {
  readonly policy: readonly PolicyStatement[];
  readonly asked: Question[];
}

function unknownOperation(service: Service, operation: string): AwsError {
  if (service === 'eks') return new AwsError('UnknownOperationException', 404, `Unknown operation ${operation}`);
  const version = service === 'iam' ? '2010-05-08' : '2011-06-15';
  return new AwsError('InvalidAction', 400, `Could not find operation ${operation} for version ${version}`);
}
