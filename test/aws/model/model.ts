import { defaultConfig } from './config.ts';
import type { Config } from './config.ts';
import type { Context, Operation, Operations, Output } from './context.ts';
import { clusterOperations } from './eks-clusters.ts';
import { profileOperations } from './eks-profiles.ts';
import { tagOperations } from './eks-tags.ts';
import type { ModelEnv } from './env.ts';
import { AwsError } from './errors.ts';
import { instanceProfileOperations } from './iam-instance-profiles.ts';
import { policyOperations } from './iam-policies.ts';
import { roleOperations } from './iam-roles.ts';
import type { Input } from './input.ts';
import { Principals } from './principals.ts';
import type { Principal, Service } from './principals.ts';
import { stsOperations } from './sts.ts';
import { Throttle } from './throttle.ts';
import { World } from './world.ts';

const operations: Readonly<Record<Service, Operations>> = {
  eks: { ...clusterOperations, ...profileOperations, ...tagOperations },
  iam: { ...roleOperations, ...policyOperations, ...instanceProfileOperations },
  sts: stsOperations,
};

/** One call of a known caller. `now` is milliseconds since the epoch and must never go back. */
export interface Call {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly principal: Principal;
  readonly region: string;
  readonly now: number;
}

export type Answer =
  { readonly kind: 'output'; readonly output: Output } | { readonly kind: 'error'; readonly error: AwsError };

export function findOperation(service: Service, operation: string): Operation | undefined {
  return Object.hasOwn(operations[service], operation) ? operations[service][operation] : undefined;
}

/** What AWS does: (operation, input, principal, now) → answer. No clock, no timer, no randomness of its own. */
export class Model {
  readonly world: World;
  readonly principals: Principals;
  readonly #throttle = new Throttle();

  constructor(env: ModelEnv, config: Config = defaultConfig) {
    this.world = new World(config, env);
    this.principals = new Principals(env);
  }

  execute(call: Call): Answer {
    try {
      return { kind: 'output', output: this.#run(call) };
    } catch (error) {
      if (error instanceof AwsError) return { kind: 'error', error };
      throw error;
    }
  }

  #run(call: Call): Output {
    const { service, principal, now } = call;
    const operation = findOperation(service, call.operation);
    if (operation === undefined) throw unknownOperation(service, call.operation);
    this.#throttle.check(call, this.world.config.throttle);
    const account = this.world.account(principal.account, principal.partition);
    const context: Context = {
      world: this.world,
      principals: this.principals,
      principal,
      account,
      region: this.world.region(account, call.region),
      now,
    };
    if (call.operation !== 'GetCallerIdentity') {
      const action = `${service}:${call.operation}`;
      this.principals.authorize(service, principal, action, operation.resource(call.input, context));
    }
    return operation.run(call.input, context);
  }
}

function unknownOperation(service: Service, operation: string): AwsError {
  if (service === 'eks') return new AwsError('UnknownOperationException', 404, `Unknown operation ${operation}`);
  const version = service === 'iam' ? '2010-05-08' : '2011-06-15';
  return new AwsError('InvalidAction', 400, `Could not find operation ${operation} for version ${version}`);
}
