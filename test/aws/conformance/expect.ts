import { DescribeClusterCommand, CreateClusterCommand, DescribeFargateProfileCommand } from '@aws-sdk/client-eks';
import type { FargateProfile } from '@aws-sdk/client-eks';
import { CreateRoleCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import type { Aws, Clients } from './scenario.ts';

export interface Refusal {
  /** The SDK's name of the error. */
  readonly name: string;
  readonly status: number;
  readonly message?: string | RegExp;
}

/** Expects that AWS refuses, and how a client of the SDK sees it. */
export async function expectRefusal(call: Promise<unknown>, refusal: Refusal): Promise<void> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) expect.fail(`expected ${refusal.name}, but the call succeeded`);
  const metadata = '$metadata' in error ? error.$metadata : undefined;
  expect({ name: error.name, message: error.message, metadata }).to.include({ name: refusal.name });
  expect(metadata).to.include({ httpStatusCode: refusal.status });
  if (refusal.message instanceof RegExp) expect(error.message).to.match(refusal.message);
  else if (refusal.message !== undefined) expect(error.message).to.equal(refusal.message);
}

/** A trust policy that Fargate may use for every cluster of the account. */
export function fargateTrust(aws: Aws): string {
  return JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
        Action: 'sts:AssumeRole',
        Condition: { ArnLike: { 'aws:SourceArn': `arn:aws:eks:*:${aws.account}:fargateprofile/*` } },
      },
    ],
  });
}

/** Makes a pod execution role; returns its ARN. */
export async function createRole(aws: Aws, name = 'pods', document = fargateTrust(aws)): Promise<string> {
  const made = await aws.iam.send(new CreateRoleCommand({ RoleName: name, AssumeRolePolicyDocument: document }));
  return made.Role?.Arn ?? '';
}

export async function createCluster(aws: Aws, name = 'c', clients: Clients = aws): Promise<void> {
  await clients.eks.send(
    new CreateClusterCommand({
      name,
      roleArn: `arn:aws:iam::${aws.account}:role/cluster`,
      resourcesVpcConfig: { subnetIds: [...aws.subnets] },
    }),
  );
  await eventually(
    async () => (await clients.eks.send(new DescribeClusterCommand({ name }))).cluster?.status === 'ACTIVE',
    { what: `cluster ${name} ACTIVE`, intervalMs: 10 },
  );
}

/** The input of a create that succeeds. */
export function profileInput(aws: Aws, podExecutionRoleArn: string, fargateProfileName = 'p') {
  return {
    clusterName: 'c',
    fargateProfileName,
    podExecutionRoleArn,
    subnets: [...aws.subnets],
    selectors: [{ namespace: 'default', labels: { app: 'web' } }],
  };
}

/** Waits until the profile has this status, and returns it. */
export async function untilStatus(aws: Aws, fargateProfileName: string, status: string): Promise<FargateProfile> {
  return eventually(
    async () => {
      const described = await aws.eks.send(new DescribeFargateProfileCommand({ clusterName: 'c', fargateProfileName }));
      const profile = described.fargateProfile;
      return profile?.status === status ? profile : false;
    },
    { what: `profile ${fargateProfileName} ${status}`, intervalMs: 10 },
  );
}

/** Waits until EKS knows no such profile. */
export async function untilGone(aws: Aws, fargateProfileName: string): Promise<void> {
  await eventually(
    async () =>
      aws.eks.send(new DescribeFargateProfileCommand({ clusterName: 'c', fargateProfileName })).then(
        () => false,
        (error: unknown) => {
          if (error instanceof Error && error.name === 'ResourceNotFoundException') return true;
          throw error;
        },
      ),
    { what: `profile ${fargateProfileName} gone`, intervalMs: 10 },
  );
}
