import { expect } from 'chai';
import { findFix } from './pod-fixes.ts';

describe('findFix', () => {
  const cases: readonly (readonly [said: string, fix: RegExp | undefined])[] = [
    ['Fargate capacity is unavailable at this time. Please try again later.', /^AWS has no capacity/],
    ['Your AWS account has reached the limit on the number of Fargate pods it can run concurrently', /L-3032A538/],
    ['Your AWS account is currently blocked and thus cannot launch any Fargate pods', /^Only AWS Support/],
    ['Fargate is not supported in the requested availability zone: ca-central-1d', /^Create a profile with subnets/],
    ['InsufficientFreeAddressesInSubnet: subnet-0 has no free addresses', /^Free addresses/],
    [
      'Misconfigured Fargate Profile: fargate profile web blocked for new launches due to: Pod execution role is not found in auth config or does not have all required permissions for launching fargate pods.',
      /^The access entry/,
    ],
    [
      'Misconfigured Fargate Profile: fargate profile web blocked for new launches due to: Failed to assume PodExecutionRole; Please make sure the role exists and trusts the eks-fargate-pods.amazonaws.com service principal',
      /trust eks-fargate-pods/,
    ],
    ['Misconfigured Fargate Profile: profile has been deleted', /^The profile of the pod is gone/],
    [
      'Pod not supported on Fargate: volumes not supported: data not supported because: PVC data-etcd-0 not bound',
      /^Wait until the claim is Bound/,
    ],
    [
      'Pod not supported on Fargate: volumes not supported: data not supported because: PVC data bound to invalid PV pvc-1 with CSI Driver: ebs.csi.aws.com',
      /EFS only/,
    ],
    ['Pod not supported on Fargate: volumes not supported: ca is of an unsupported volume Type', /EFS only/],
    ['Pod not supported on Fargate: invalid SecurityContext fields: Privileged', /^Remove the fields/],
    ['Pod provisioning timed out (will retry) for pod: shop/web-0', /^EKS tries again/],
    [
      'failed to write "100000": write /sys/fs/cgroup/cpu,cpuacct/kubepods/podx/cpu.cfs_quota_us: invalid',
      /to its limit/,
    ],
    ['Output: Failed to resolve "fs-0123.efs.us-east-1.amazonaws.com"', /mount target/],
    [
      'failed to do request: Head "https://registry-1.docker.io/v2/": dial tcp 1.2.3.4:443: i/o timeout',
      /to the registry/,
    ],
    ['Failed to pull image "x": pull access denied', /imagePullSecrets/],
    [
      '0/2 nodes are available: 2 node(s) had untolerated taint {eks.amazonaws.com/compute-type: fargate}.',
      /^No Fargate/,
    ],
    ['Back-off restarting failed container', undefined],
    ['', undefined],
  ];
  for (const [said, fix] of cases)
    it(`${said.slice(0, 100)}: ${fix?.source ?? 'not known'}`, () => {
      if (fix === undefined) expect(findFix(said)).to.equal(undefined);
      else expect(findFix(said)).to.match(fix);
    });
});
