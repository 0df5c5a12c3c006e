import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { checkCapacity } from './capacity.ts';
import type { AwsFacts, Quotas } from './read-aws.ts';

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
const linesWith = (quotas: AwsFacts['quotas'], clusters: readonly ClusterInEks[] = []): readonly string[] =>
  checkCapacity({ clusters, quotas }).map(({ name, result, message }) => `${result} ${name}: ${message}`);
const linesOf = (...clusters: readonly ClusterInEks[]): readonly string[] => linesWith(new Map(), clusters);
const NONE: Quotas = { profiles: E.right(undefined), vCpus: E.right(undefined), vCpusInUse: E.right(undefined) };
const quotas = (found: Partial<Quotas>) => new Map([['eu-west-1', { ...NONE, ...found }]]);
const profiles = (count: number) => Array.from({ length: count }, (_, index) => profile(`p${index}`));

describe('the capacity that capaf doctor checks', () => {
  it('covers each EKS cluster once, if capaf can read its profiles', () => {
    expect(linesOf()).to.deep.equal([]);
    expect(linesOf(prod([]), prod([]))).to.have.length(1);
    expect(linesOf(prod([], {}, { profiles: E.left('forbidden') }))).to.deep.equal([]);
  });

  it('warns if the quota of profiles is used up, and assumes 10 if Service Quotas has no value', () => {
    const lineOf = (count: number, found: Quotas['profiles']): string | undefined =>
      linesWith(quotas({ profiles: found }), [prod(profiles(count))])[0];
    const more = 'EKS refuses the next profile, and each replacement';
    expect(lineOf(9, E.right(undefined))).to.equal('ok profiles of prod: 9 of 10');
    expect(lineOf(10, E.right(undefined))).to.equal(`warning profiles of prod: 10 of 10. ${more}`);
    expect(lineOf(19, E.right(20))).to.equal('ok profiles of prod: 19 of 20');
    expect(lineOf(20, E.right(20))).to.equal(`warning profiles of prod: 20 of 20. ${more}`);
    expect(lineOf(9, E.left('forbidden'))).to.equal('ok profiles of prod: 9; the quota is 10 or more');
    expect(lineOf(10, E.left('forbidden'))).to.equal(
      'unchecked profiles of prod: 10; the quota is not known: forbidden',
    );
  });

  it('compares the Fargate vCPU quota with the usage of the whole account', () => {
    const lineOf = (most: number, used?: number): string | undefined =>
      linesWith(quotas({ vCpus: E.right(most), vCpusInUse: E.right(used) }))[0];
    const all = 'in use in the last hour, by all clusters and ECS tasks of the account';
    expect(lineOf(100, 79.75)).to.equal(`ok Fargate vCPU in eu-west-1: up to 79.75 of 100 ${all}`);
    expect(lineOf(100, 80)).to.equal(`warning Fargate vCPU in eu-west-1: up to 80 of 100 ${all}`);
    expect(lineOf(6, 5.75)).to.equal(`warning Fargate vCPU in eu-west-1: up to 5.75 of 6 ${all}`);
    const full = 'Fargate starts no pod beyond the quota';
    expect(lineOf(6, 6)).to.equal(`problem Fargate vCPU in eu-west-1: up to 6 of 6 ${all}. ${full}`);
    const unknown = 'how much of it is in use is not known: CloudWatch has no data of the last hour';
    expect(lineOf(0)).to.equal(`problem Fargate vCPU in eu-west-1: the quota of the account is 0; ${unknown}. ${full}`);
    expect(lineOf(6)).to.equal(`unchecked Fargate vCPU in eu-west-1: the quota of the account is 6; ${unknown}`);
  });

  it('does not check the Fargate vCPU quota if AWS does not report the quota or the usage', () => {
    expect(linesWith(quotas({ vCpus: E.left('forbidden') }))).to.deep.equal([
      'unchecked Fargate vCPU in eu-west-1: forbidden',
    ]);
    expect(linesWith(quotas({}))).to.deep.equal([
      'unchecked Fargate vCPU in eu-west-1: Service Quotas has no value for the account',
    ]);
    expect(linesWith(quotas({ vCpus: E.right(6), vCpusInUse: E.left('forbidden') }))).to.deep.equal([
      'unchecked Fargate vCPU in eu-west-1: the quota of the account is 6; how much of it is in use is not known: forbidden',
    ]);
  });

  it('warns of few free addresses, and reports a problem if no subnet of a profile has a free address', () => {
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
