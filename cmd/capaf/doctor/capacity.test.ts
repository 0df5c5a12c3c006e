import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { checkCapacity } from './capacity.ts';
import type { AwsFacts } from './read-aws.ts';

type ClusterInEks = AwsFacts['clusters'][number];

const profile = (name: string, ...subnets: readonly string[]) => ({ name: ProfileName.of(name), subnets });
const prod = (
  profiles: readonly Pick<FargateProfile, 'name' | 'subnets'>[],
  free: Readonly<Record<string, number>> = {},
  more: Partial<ClusterInEks> = {},
): ClusterInEks => ({
  cluster: { name: EksClusterName.of('prod') } as ClusterInEks['cluster'],
  region: 'eu-west-1',
  profiles: E.right(profiles as readonly FargateProfile[]),
  free: E.right(new Map(Object.entries(free))),
  ...more,
});
const linesOf = (...clusters: readonly ClusterInEks[]): readonly string[] =>
  checkCapacity({ clusters, caller: E.right({ account: '111122223333' }) }).map(
    ({ name, result, message }) => `${result} ${name}: ${message}`,
  );
const profiles = (count: number) => Array.from({ length: count }, (_, index) => profile(`p${index}`));

describe('the capacity that capaf doctor checks', () => {
  it('is that of EKS clusters, each once, and of the vCPU in each region, which capaf does not ask', () => {
    expect(linesOf()).to.deep.equal([]);
    const checks = checkCapacity({ clusters: [prod([]), prod([])], caller: E.right({ account: '111122223333' }) });
    expect(checks.map(({ name, result }) => `${result} ${name}`)).to.deep.equal([
      'ok profiles of prod',
      'unchecked Fargate vCPU in eu-west-1',
    ]);
    expect(checks.at(-1)?.fix).to.equal(
      'See aws service-quotas get-service-quota --region=eu-west-1 --service-code=fargate --quota-code=L-3032A538',
    );
    expect(linesOf(prod([], {}, { profiles: E.left('forbidden') }))).to.deep.equal([]);
  });

  it('warns of the quota of profiles when it is used up, unless AWS has raised it', () => {
    expect(linesOf(prod(profiles(9)))[0]).to.equal('ok profiles of prod: 9; the quota is 10 unless AWS has raised it');
    expect(linesOf(prod(profiles(10)))[0]).to.equal(
      'warning profiles of prod: 10; the quota is 10 unless AWS has raised it. Otherwise EKS refuses the next profile, and each replacement',
    );
    expect(linesOf(prod(profiles(11)))[0]).to.equal(
      'unchecked profiles of prod: 11; AWS has raised the quota of 10, and capaf does not ask how far',
    );
  });

  it('warns of few free addresses, and finds a problem where no subnet of a profile has one', () => {
    const two = [profile('web', 'subnet-a', 'subnet-b'), profile('jobs', 'subnet-b')];
    expect(linesOf(prod(two, { 'subnet-a': 16, 'subnet-b': 200 }))[1]).to.equal(
      'ok subnets of prod: each has 16 free addresses or more',
    );
    expect(linesOf(prod(two, { 'subnet-a': 15, 'subnet-b': 200 }))[1]).to.equal(
      'warning subnets of prod: free addresses: subnet-a 15',
    );
    expect(linesOf(prod(two, { 'subnet-a': 1, 'subnet-b': 0 }))[1]).to.equal(
      'problem subnets of prod: free addresses: subnet-a 1, subnet-b 0. No pod of profile "jobs" can start',
    );
    expect(linesOf(prod(two, { 'subnet-a': 16 }))[1]).to.equal(
      'problem subnets of prod: free addresses: subnet-b does not exist. No pod of profile "jobs" can start',
    );
    expect(linesOf(prod(two, {}, { free: E.left('forbidden') }))[1]).to.equal('unchecked subnets of prod: forbidden');
  });
});
