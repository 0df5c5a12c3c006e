import { expect } from 'chai';
import { type ConfigPatch, defaultConfig, withConfig } from './config.ts';
import type { Output } from './context.ts';
import { addCluster } from './eks/clusters.ts';
import { seededEnv } from './env.ts';
import type { AwsError } from './errors.ts';
import type { Input } from './input.ts';
import { Model } from './model.ts';
import type { Principal, Service } from './sts/principals.ts';
import type { EmulatedCluster, EmulatedProfile } from './resources.ts';

export const account = '111122223333';
export const region = 'eu-west-1';

export const fargateTrust = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
      Action: 'sts:AssumeRole',
      Condition: { ArnLike: { 'aws:SourceArn': `arn:aws:eks:${region}:${account}:fargateprofile/c/*` } },
    },
  ],
});

/**
 * The emulated AWS for unit tests: one caller, one EKS cluster `c`, one pod execution role `pods`, and a clock that the
 * test sets.
 */
export class ModelFixture {
  readonly model: Model;
  readonly caller: Principal;
  now = 1_700_000_000_000;

  constructor(config: ConfigPatch = {}) {
    this.model = new Model(seededEnv(7), withConfig(defaultConfig, config));
    this.caller = this.key('me');
    const { subnets } = this.model.state.region(this.model.state.account(account), region);
    for (const [id, zone, isPublic] of [
      ['subnet-a', 'a', false],
      ['subnet-b', 'b', false],
      ['subnet-public', 'a', true],
    ] as const) {
      subnets.set(id, { id, vpcId: 'vpc-1', availabilityZone: `${region}${zone}`, isPublic });
    }
    subnets.set('subnet-far', { id: 'subnet-far', vpcId: 'vpc-2', availabilityZone: `${region}a`, isPublic: false });
    this.addCluster('c', ['subnet-a', 'subnet-b', 'subnet-public']);
    this.run('iam', 'CreateRole', { RoleName: 'pods', AssumeRolePolicyDocument: fargateTrust });
    this.advance(60_000);
  }

  key(userName: string, inAccount = account): Principal {
    const { accessKeyId } = this.model.principals.register({ account: inAccount, userName });
    return this.model.principals.authenticate('sts', { accessKeyId }, this.now);
  }

  addCluster(name: string, subnetIds: readonly string[]): void {
    const owner = this.model.state.account(account);
    const there = this.model.state.region(owner, region);
    const wanted = { name, vpcId: 'vpc-1', subnetIds, status: 'ACTIVE', authenticationMode: 'CONFIG_MAP' } as const;
    addCluster(owner, there, this.now, wanted);
  }

  advance(ms: number): void {
    this.now += ms;
  }

  run(service: Service, operation: string, input: Input, principal = this.caller): Output {
    const answer = this.model.execute({ service, operation, input, principal, region, now: this.now });
    if (answer.kind === 'error') throw answer.error;
    return answer.output;
  }

  /** Executes a call that AWS must refuse, and returns the error. */
  refused(service: Service, operation: string, input: Input, principal = this.caller): AwsError {
    const answer = this.model.execute({ service, operation, input, principal, region, now: this.now });
    if (answer.kind === 'output') throw new Error(`${service}:${operation} was not refused`);
    return answer.error;
  }

  profileInput(name: string, change: Input = {}): Input {
    return {
      clusterName: 'c',
      fargateProfileName: name,
      podExecutionRoleArn: `arn:aws:iam::${account}:role/pods`,
      subnets: ['subnet-a'],
      selectors: [{ namespace: 'default' }],
      ...change,
    };
  }

  createActive(name: string): void {
    this.run('eks', 'CreateFargateProfile', this.profileInput(name));
    this.advance(2_000);
  }

  get cluster(): EmulatedCluster {
    const there = this.model.state.region(this.model.state.account(account), region);
    const cluster = this.model.state.cluster(there, 'c', this.now);
    if (cluster === undefined) throw new Error('the cluster is gone');
    return cluster;
  }

  status(name: string): EmulatedProfile['status'] | undefined {
    return this.cluster.profiles.get(name)?.status;
  }
}

export function expectRefusal(error: AwsError, code: string, status: number, message: string): void {
  expect({ code: error.code, status: error.status, message: error.message }).to.deep.equal({ code, status, message });
}
