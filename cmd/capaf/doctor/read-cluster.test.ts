import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { FakeApiServer, type FakeKind, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { readCluster } from './read-cluster.ts';

const kind = (group: string, plural: string, name: string, namespaced: boolean): FakeKind => ({
  group,
  plural,
  kind: name,
  versions: ['v1beta2'],
  status: false,
  namespaced,
});
const KINDS = [
  { ...kind('apps', 'deployments', 'Deployment', true), versions: ['v1'] },
  kind('infrastructure.cluster.x-k8s.io', 'awsfargateprofiles', 'AWSFargateProfile', true),
  kind('infrastructure.cluster.x-k8s.io', 'awsclusterroleidentities', 'AWSClusterRoleIdentity', false),
  kind('controlplane.cluster.x-k8s.io', 'awsmanagedcontrolplanes', 'AWSManagedControlPlane', true),
];
const ROLE = 'arn:aws:iam::111122223333:role/fargate';

describe('the identities that capaf doctor finds', () => {
  const clock = new VirtualClock();
  const server = new FakeApiServer({ clock, random: new SeededRandom(1), kinds: KINDS });
  const create = (plural: string, namespace: string, name: string, fields: object): unknown =>
    server.storage.create(server.kind(plural), namespace, { metadata: { name }, ...fields });
  create('namespaces', '', 'team-a', { metadata: { name: 'team-a', labels: { team: 'a' } } });
  create('namespaces', '', 'team-b', {});
  const allowedNamespaces = { selector: { matchLabels: { team: 'a' } } };
  create('awsclusterroleidentities', '', 'fargate', {
    spec: { roleARN: ROLE, allowedNamespaces },
  });
  for (const [namespace, identity] of [
    ['team-a', { kind: 'AWSClusterRoleIdentity', name: 'fargate' }],
    ['team-b', { kind: 'AWSClusterRoleIdentity', name: 'fargate' }],
    ['team-c', { kind: 'AWSClusterRoleIdentity', name: 'none' }],
    ['team-d', { kind: 'AWSClusterStaticIdentity', name: 'keys' }],
    ['team-e', undefined],
  ] as const)
    create('awsmanagedcontrolplanes', namespace, 'prod', { spec: { region: 'eu-west-1', identityRef: identity } });

  const client = createKubeClient({ transport: server, clock });
  const read = () => readCluster(client, 'capaf-system', new AbortController().signal);

  it('are read in a cluster without a manager, for which no permissions are checked', async () => {
    const { manager } = await read();
    expect(manager).to.deep.include({ isElsewhere: true, missing: [] });
  });

  it("have the manager's condition, from an AWSFargateProfile that uses the identity", async () => {
    const profile = (namespace: string, identityRef: object | undefined, status: string): void => {
      const condition = { type: 'CredentialsReady', status, lastTransitionTime: '2026-11-21T00:00:00Z' };
      create('awsfargateprofiles', namespace, 'web', {
        spec: { clusterName: 'prod', selectors: [{ namespace: 'a' }] },
        status: { eksClusterName: `${namespace}_prod`, identityRef, conditions: [condition] },
      });
    };
    profile('team-a', { kind: 'AWSClusterRoleIdentity', name: 'earlier' }, 'True');
    profile('team-d', { kind: 'AWSClusterStaticIdentity', name: 'keys' }, 'False');
    profile('team-e', undefined, 'True');
    const { clusters } = await read();
    const told = clusters.map(({ condition }) => condition && [condition.object, condition.status]);
    expect(told).to.deep.equal([undefined, undefined, undefined, ['team-d/web', 'False'], ['team-e/web', 'True']]);
  });

  it('are those of the control planes, as the controllers resolve them', async () => {
    const { clusters } = await read();
    const found = clusters.map(({ name, roleArn, account, isManager, problem }) => {
      return [name, problem?.reason ?? { roleArn, account, isManager }];
    });
    expect(found).to.deep.equal([
      ['team-a_prod', { roleArn: ROLE, account: '111122223333', isManager: false }],
      ['team-b_prod', 'IdentityNotAllowed'],
      ['team-c_prod', 'IdentityNotFound'],
      ['team-d_prod', 'IdentityUnreadable'],
      ['team-e_prod', { roleArn: undefined, account: undefined, isManager: true }],
    ]);
  });
});
