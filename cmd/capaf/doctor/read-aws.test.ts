import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { systemClock } from 'controller-runtime/env';
import { AccountId, EksClusterName } from '../../../api/names.ts';
import { EmulatorRequestHandler } from '../../../test/aws/transport/request-handler.ts';
import { ACCOUNT, REGION, newAccess, newEmulator } from '../testing/emulated-aws.ts';
import { type AwsFacts, readAws } from './read-aws.ts';
import type { ClusterFacts, NamedCluster } from './read-cluster.ts';

const PROD: NamedCluster = {
  namespace: 'team-a',
  name: EksClusterName.of('prod'),
  region: REGION,
  identity: 'the manager itself',
  condition: undefined,
  externalId: undefined,
  problem: undefined,
  roleArn: undefined,
  isManager: true,
  account: undefined,
};

describe('the AWS facts that capaf doctor reads for an EKS cluster', () => {
  const emulator = newEmulator(systemClock);
  emulator.admin.createCluster({ name: 'prod', region: REGION });
  emulator.admin.putProfile({
    name: 'web',
    cluster: 'prod',
    region: REGION,
    podExecutionRoleArn: 'arn:aws:iam::1:role/r',
  });

  async function factsOf(cluster: Partial<NamedCluster>): Promise<AwsFacts> {
    const aws = newAccess(new EmulatorRequestHandler(emulator), systemClock, undefined);
    const facts = {
      clusters: [{ ...PROD, ...cluster }],
      manager: { roleArn: E.right(undefined) },
      objects: E.right([]),
    };
    return readAws(aws, facts as unknown as ClusterFacts, false, systemClock.now());
  }

  async function seenOf(cluster: Partial<NamedCluster>): Promise<unknown> {
    const { clusters } = await factsOf(cluster);
    const [profiles = E.left('nothing')] = clusters.map((each) => each.profiles);
    return E.isLeft(profiles) ? profiles.left : profiles.right.map(({ name }) => name);
  }

  it('include its profiles', async () => {
    expect(await seenOf({})).to.deep.equal(['web']);
  });

  it("include the quotas of the cluster's region, and their usage", async () => {
    emulator.admin.setConfig({ quotas: { profilesPerCluster: 30, fargateVCpus: 6, fargateVCpusInUse: 5.25 } });
    const { quotas } = await factsOf({});
    const found = { profiles: E.right(30), vCpus: E.right(6), vCpusInUse: E.right(5.25) };
    expect([...quotas]).to.deep.equal([[REGION, found]]);
    expect([...(await factsOf({ name: EksClusterName.of('gone') })).quotas]).to.deep.equal([]);
  });

  it('omit quotas for which AWS has no value, or which AWS does not show', async () => {
    emulator.admin.setConfig({ quotas: {} });
    const nothing = E.right(undefined);
    const none = { profiles: nothing, vCpus: nothing, vCpusInUse: nothing };
    expect([...(await factsOf({})).quotas.values()]).to.deep.equal([none]);
    for (const action of ['servicequotas:GetServiceQuota', 'cloudwatch:GetMetricStatistics'])
      emulator.admin.deny({ principal: ACCOUNT, action });
    const [denied = none] = (await factsOf({})).quotas.values();
    emulator.admin.allow();
    const whys = [denied.profiles, denied.vCpus, denied.vCpusInUse].map((answer) =>
      E.isLeft(answer) ? answer.left : '',
    );
    const action = /^the credentials may not do ([^:]+:[A-Za-z]+)/;
    expect(whys.map((why) => action.exec(why)?.[1])).to.deep.equal([
      'servicequotas:GetServiceQuota',
      'servicequotas:GetServiceQuota',
      'cloudwatch:GetMetricStatistics',
    ]);
  });

  it("omit the manager's permissions if its ServiceAccount names no role", async () => {
    const { simulations } = await factsOf({});
    const why = 'the ServiceAccount of the manager names no role, so its permissions are not known';
    expect(simulations).to.deep.equal([{ principal: 'the role of the manager', denials: E.left(why) }]);
  });

  const assumedIn = async (roleArn: string, change: Partial<NamedCluster> = {}): Promise<unknown> => {
    const role = { roleArn: roleArn as NamedCluster['roleArn'], isManager: false, externalId: 'capi', ...change };
    return [...(await factsOf(role)).assumed].map(([arn, answer]) => [arn, E.isRight(answer) || answer.left]);
  };

  it("include whether capaf can assume an identity's role with the identity's external ID", async () => {
    const trust = (account: string, condition = {}): string =>
      JSON.stringify({
        Statement: [{ Effect: 'Allow', Principal: { AWS: account }, Action: 'sts:AssumeRole', Condition: condition }],
      });
    const condition = { StringEquals: { 'sts:ExternalId': 'capi' } };
    const mine = emulator.admin.putRole({ name: 'mine', trustPolicy: trust(ACCOUNT, condition) }).arn;
    const other = emulator.admin.putRole({ name: 'other', trustPolicy: trust('999999999999') }).arn;
    expect(await assumedIn(mine)).to.deep.equal([[mine, true]]);
    expect(String(await assumedIn(other))).to.contain(`${other},the credentials may not do sts:AssumeRole`);
  });

  it('omit roles for which the condition of an AWSFargateProfile shows that they work', async () => {
    const condition = { type: 'CredentialsReady', status: 'True', lastTransitionTime: '', object: 'a/b' } as const;
    expect(await assumedIn('arn:r', { condition })).to.deep.equal([]);
  });

  const another = 'Choose other credentials with --profile or --role-arn';
  const cases: readonly (readonly [string, Partial<NamedCluster>, string])[] = [
    [
      'whose objects record another account',
      { account: AccountId.of('999999999999') },
      `EKS cluster prod is in account 999999999999, and the credentials are of ${ACCOUNT}. ${another}`,
    ],
    ['whose region is not known', { region: undefined }, 'the AWS region is not known; name it with --region'],
    [
      'that does not exist',
      { name: EksClusterName.of('gone') },
      'AWS has no EKS cluster gone in eu-west-1; check the region, which --region or an object names, and the account of the credentials',
    ],
  ];
  for (const [which, cluster, why] of cases)
    it(`are missing for an EKS cluster ${which}`, async () => expect(await seenOf(cluster)).to.equal(why));
});
