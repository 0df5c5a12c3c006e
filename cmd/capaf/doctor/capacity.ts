import * as E from 'fp-ts/lib/Either.js';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { VCPU_QUOTA } from '../../../pkg/fargate/pod-events.ts';
import type { Answer } from '../aws.ts';
import { shellCommand } from '../shell.ts';
import type { Check, Verdict } from './checks.ts';
import type { AwsFacts } from './read-aws.ts';

/**
 * "Fargate profiles per cluster", unless AWS has raised it for the account: https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html.
 * capaf has no client of Service Quotas, so it does not know how far.
 */
const DEFAULT_PROFILES = 10;
/** EKS recommends as many for its own network interfaces: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html */
const FEW_ADDRESSES = 16;

/** What may keep the next profile from being created, and the next pod from starting. */
export function checkCapacity({ clusters, caller }: Pick<AwsFacts, 'clusters' | 'caller'>): readonly Check[] {
  const line = (name: string, [result, message, fix]: Verdict): Check => {
    return { group: 'capacity', name, result, message, fix };
  };
  const seen = clusters.flatMap(({ cluster: { name }, region, profiles, free }) =>
    E.isRight(profiles) ? [{ name, region, profiles: profiles.right, free }] : [],
  );
  // Several namespaces may name one EKS cluster.
  const distinct = new Map(seen.map((each) => [`${each.region} ${each.name}`, each]));
  const regions = new Set(seen.map(({ region }) => region));
  return [
    ...[...distinct.values()].flatMap(({ name, profiles, free }) => [
      line(`profiles of ${name}`, judgeProfiles(profiles.length)),
      ...(profiles.some(({ subnets }) => subnets.length > 0)
        ? [line(`subnets of ${name}`, judgeSubnets(profiles, free))]
        : []),
    ]),
    ...[...regions].map((region) => {
      const of = [`--region=${region}`, '--service-code=fargate', `--quota-code=${VCPU_QUOTA}`];
      const show = `See ${shellCommand(['aws', 'service-quotas', 'get-service-quota', ...of])}`;
      const account = E.isRight(caller) ? caller.right.account : '';
      // AWS gives accounts different values, and only Service Quotas tells them.
      const message = `capaf does not ask Service Quotas for the quota of account ${account}`;
      return line(`Fargate vCPU in ${region}`, ['unchecked', message, show]);
    }),
  ];
}

function judgeProfiles(count: number): Verdict {
  const message = `${count}; the quota is ${DEFAULT_PROFILES} unless AWS has raised it`;
  const fix = 'Request a higher quota in Service Quotas: Amazon EKS, "Fargate profiles per cluster"';
  if (count < DEFAULT_PROFILES) return ['ok', message];
  if (count > DEFAULT_PROFILES)
    return ['unchecked', `${count}; AWS has raised the quota of ${DEFAULT_PROFILES}, and capaf does not ask how far`];
  return ['warning', `${message}. Otherwise EKS refuses the next profile, and each replacement`, fix];
}

/** Each pod on Fargate takes an address of one of the subnets of its profile. */
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
