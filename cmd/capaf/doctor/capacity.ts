import * as E from 'fp-ts/lib/Either.js';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { VCPU_QUOTA } from '../../../pkg/fargate/pod-fixes.ts';
import type { Answer } from '../aws.ts';
import { type Check, type Verdict, line } from './check.ts';
import type { AwsFacts, Quotas } from './read-aws.ts';

/**
 * The default quota of Fargate profiles per cluster:
 * https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
 */
const DEFAULT_PROFILES = 10;
/**
 * EKS recommends this number of free addresses for its own network interfaces:
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
const FEW_ADDRESSES = 16;
/** The smallest Fargate pod has this size. */
const LEAST_VCPU = 0.25;
/** From this fraction of a quota on, a user should request a higher quota. */
const MUCH = 0.8;

/** Checks what may prevent the creation of the next profile, or the start of the next pod. */
export function checkCapacity({ clusters, quotas }: Pick<AwsFacts, 'clusters' | 'quotas'>): readonly Check[] {
  const seen = clusters.flatMap(({ cluster: { name }, region = '', profiles, free }) =>
    E.isRight(profiles) ? [{ name, region, profiles: profiles.right, free }] : [],
  );
  // Objects in several namespaces may use the same EKS cluster.
  const distinct = new Map(seen.map((each) => [`${each.region} ${each.name}`, each]));
  return [
    ...[...distinct.values()].flatMap(({ name, region, profiles, free }) => [
      line('capacity', `profiles of ${name}`, judgeProfiles(profiles.length, quotas.get(region)?.profiles)),
      ...(profiles.some(({ subnets }) => subnets.length > 0)
        ? [line('capacity', `subnets of ${name}`, judgeSubnets(profiles, free))]
        : []),
    ]),
    ...[...quotas].map(([region, each]) => line('capacity', `Fargate vCPU in ${region}`, judgeVCpus(each))),
  ];
}

function judgeProfiles(count: number, quota: Quotas['profiles'] = E.right(undefined)): Verdict {
  const fix = 'Request a higher quota in Service Quotas: Amazon EKS, "Fargate profiles per cluster"';
  if (E.isLeft(quota))
    return count < DEFAULT_PROFILES
      ? ['ok', `${count}; the quota is ${DEFAULT_PROFILES} or more`]
      : ['unchecked', `${count}; the quota is not known: ${quota.left}`];
  const { right: most = DEFAULT_PROFILES } = quota;
  const message = `${count} of ${most}`;
  if (count < most) return ['ok', message];
  return ['warning', `${message}. EKS refuses the next profile, and each replacement`, fix];
}

/** The vCPU quota applies to the whole account, so pods in other clusters and ECS tasks count too. */
function judgeVCpus({ vCpus, vCpusInUse }: Quotas): Verdict {
  if (E.isLeft(vCpus)) return ['unchecked', vCpus.left];
  const { right: most } = vCpus;
  if (most === undefined) return ['unchecked', 'Service Quotas has no value for the account'];
  const fix = `Request a higher quota in Service Quotas: AWS Fargate, ${VCPU_QUOTA}`;
  const inUse = E.filterOrElse(
    (value: number | undefined) => value !== undefined,
    () => 'CloudWatch has no data of the last hour',
  )(vCpusInUse);
  const used = E.getOrElse(() => 0)(inUse);
  const message = E.isLeft(inUse)
    ? `the quota of the account is ${most}; how much of it is in use is not known: ${inUse.left}`
    : `up to ${used} of ${most} in use in the last hour, by all clusters and ECS tasks of the account`;
  if (most - used < LEAST_VCPU) return ['problem', `${message}. Fargate starts no pod beyond the quota`, fix];
  if (E.isLeft(inUse)) return ['unchecked', message];
  return used < most * MUCH ? ['ok', message] : ['warning', message, fix];
}

/** Each Fargate pod takes a free address from a subnet of its profile. */
function judgeSubnets(profiles: readonly FargateProfile[], free: Answer<ReadonlyMap<string, number>>): Verdict {
  if (E.isLeft(free)) return ['unchecked', free.left];
  const fix = 'Free addresses, or create a profile with other subnets (spec.subnetIDs of an AWSFargateProfile)';
  const countOf = (id: string): number => free.right.get(id) ?? 0;
  const few = [...new Set(profiles.flatMap(({ subnets }) => subnets))].filter((id) => countOf(id) < FEW_ADDRESSES);
  if (few.length === 0) return ['ok', `each has ${FEW_ADDRESSES} free addresses or more`];
  const full = profiles.filter(({ subnets }) => subnets.length > 0 && subnets.every((id) => countOf(id) === 0));
  const message = `free addresses: ${few.map((id) => `${id} ${free.right.get(id) ?? 'does not exist'}`).join(', ')}`;
  if (full.length === 0) return ['warning', message, fix];
  const names = full.map(({ name }) => `"${name}"`).join(', ');
  return ['problem', `${message}. No pod of profile ${names} can start`, fix];
}
