import { DescribeFargateProfileCommand } from '@aws-sdk/client-eks';
import type { FargateProfile } from '@aws-sdk/client-eks';
import { CreateRoleCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import type { ConformanceAws } from './scenario.ts';

export interface Refusal {
  /** The name of the error in the SDK, e.g. `ResourceNotFoundException`. */
  readonly name: string;
  readonly status: number;
  readonly message?: string | RegExp;
}

/**
 * Expects AWS to refuse the call with this error. The AWS SDK client must throw the error with this name and HTTP
 * status.
 */
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

/** Returns a trust policy that lets Fargate assume the role for the profiles of all EKS clusters of the account. */
export function fargateTrust(aws: ConformanceAws): string {
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

export async function createRole(aws: ConformanceAws, name = 'pods'): Promise<string> {
  const made = await aws.iam.send(
    new CreateRoleCommand({ RoleName: name, AssumeRolePolicyDocument: fargateTrust(aws) }),
  );
  return made.Role?.Arn ?? '';
}

export function profileInput(aws: ConformanceAws, podExecutionRoleArn: string, fargateProfileName = 'p') {
  return {
    clusterName: 'c',
    fargateProfileName,
    podExecutionRoleArn,
    subnets: [...aws.subnets],
    selectors: [{ namespace: 'default', labels: { app: 'web' } }],
  };
}

export async function untilStatus(
  aws: ConformanceAws,
  fargateProfileName: string,
  status: string,
): Promise<FargateProfile> {
  return eventually(
    async () => {
      const described = await aws.eks.send(new DescribeFargateProfileCommand({ clusterName: 'c', fargateProfileName }));
      const profile = described.fargateProfile;
      return profile?.status === status ? profile : false;
    },
    { what: `profile ${fargateProfileName} ${status}`, intervalMs: 10 },
  );
}

export async function untilGone(aws: ConformanceAws, fargateProfileName: string): Promise<void> {
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
