import { expect } from 'chai';
import { createKubeClient, type KubeObject } from 'controller-runtime/client';
import { FakeApiServer, type FakeKind, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName } from '../../../api/names.ts';
import type { AwsTransport } from '../../../pkg/cloud/index.ts';
import { EmulatorRequestHandler } from '../../../test/aws/transport/request-handler.ts';
import { Failure } from '../io.ts';
import type { KubeAccess } from '../kube.ts';
import { ACCOUNT, REGION, newAccess, newEmulator } from '../testing/emulated-aws.ts';
import type { TreeNode } from '../tree.ts';
import { eventNodes } from './objects.ts';
import type { Scope } from '../objects.ts';
import { type StatusAccess, readEksCluster, readStatus } from './read.ts';
import { isFine, nodesIn } from './run.ts';

const EKS = EksClusterName.of('prod');
const OWNER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const SHOP = [{ namespace: 'shop', labels: {} }];
const roleArn = (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`;

const kind = (group: string, plural: string, name: string, version: string): FakeKind => {
  return { group, plural, kind: name, versions: [version], status: false };
};
const KINDS = [
  kind('', 'pods', 'Pod', 'v1'),
  kind('', 'events', 'Event', 'v1'),
  kind('cluster.x-k8s.io', 'clusters', 'Cluster', 'v1beta2'),
  kind('controlplane.cluster.x-k8s.io', 'awsmanagedcontrolplanes', 'AWSManagedControlPlane', 'v1beta2'),
  kind('infrastructure.cluster.x-k8s.io', 'awsfargateprofiles', 'AWSFargateProfile', 'v1beta2'),
];

type Fields = Readonly<Record<string, unknown>>;

/** A management cluster, which is its own workload cluster, and AWS, all in this process. */
class Scene {
  readonly clock = new VirtualClock();
  readonly aws = newEmulator(this.clock);
  private readonly server = new FakeApiServer({ clock: this.clock, random: new SeededRandom(1), kinds: KINDS });
  /** The number of AWS requests in progress. */
  private inFlight = 0;
  mostInFlight = 0;

  constructor() {
    this.aws.admin.createCluster({ name: EKS, region: REGION, authenticationMode: 'API' });
    const apiGroup = 'controlplane.cluster.x-k8s.io';
    const controlPlaneRef = { apiGroup, kind: 'AWSManagedControlPlane', name: 'prod-cp' };
    this.create('clusters', 'prod', { spec: { controlPlaneRef } });
    this.create('awsmanagedcontrolplanes', 'prod-cp', { spec: { eksClusterName: EKS, region: REGION } });
  }

  create(plural: string, name: string, fields: Fields, namespace = 'default'): void {
    const metadata = { ...(fields['metadata'] as Fields | undefined), name };
    this.server.storage.create(this.server.kind(plural), namespace, { ...fields, metadata });
  }

  object(name: string, status: Fields = {}, spec: Fields = {}, namespace = 'default'): void {
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const all = { observedGeneration: 1, conditions: [ready], ...status };
    const fields = { spec: { clusterName: 'prod', selectors: SHOP, ...spec }, status: all };
    this.create('awsfargateprofiles', name, fields, namespace);
  }

  inEks(name: string, owner: string | undefined, more: Fields = {}): void {
    const tags = owner === undefined ? {} : { [OWNER]: owner };
    const profile = { cluster: EKS, region: REGION, name, podExecutionRoleArn: roleArn('pods'), subnets: ['subnet-1'] };
    this.aws.admin.putProfile({ ...profile, selectors: SHOP, tags, ...more });
  }

  role(hasEntry: boolean): void {
    this.aws.admin.putRole({ name: 'pods', trustPolicy: '{}' });
    if (hasEntry) this.aws.admin.putAccessEntry({ cluster: EKS, region: REGION, principalArn: roleArn('pods') });
  }

  readonly access = (): StatusAccess & { readonly management: KubeAccess } => {
    const client = createKubeClient({ transport: this.server, clock: this.clock });
    const management = { client, namespace: 'default', server: 'https://api', [Symbol.asyncDispose]: async () => {} };
    const { signal } = new AbortController();
    const handler = new EmulatorRequestHandler(this.aws);
    const transport: AwsTransport = {
      handle: async (request, options) => {
        this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight);
        return handler.handle(request, options).finally(() => (this.inFlight -= 1));
      },
    };
    const aws = newAccess(transport, this.clock, REGION);
    return { aws, management, openPods: async () => management, now: this.clock.now(), signal };
  };

  async read(scope: Partial<Scope> = {}): Promise<readonly TreeNode[]> {
    const access = this.access();
    const all = { namespace: 'default', names: [], cluster: undefined, ...scope };
    return readStatus(access.management, all, access);
  }

  async find(wanted: string, scope: Partial<Scope> = {}): Promise<readonly TreeNode[]> {
    return nodesIn(await this.read(scope)).filter((node) => node.kind === wanted);
  }
}

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => '',
    (error: unknown) => (error instanceof Failure ? error.message : String(error)),
  );

describe('what capaf status reads', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
  });

  it('tells whose a profile is', async () => {
    scene.object('web', { profileName: 'default_web' });
    scene.object('old', { profileName: 'default_old' }, { selectors: [{ namespace: 'other' }] });
    scene.object('taken');
    scene.inEks('default_web', 'default/web');
    scene.inEks('default_old', 'default/old');
    scene.inEks('default_taken', 'team-b/x');
    scene.inEks('of-team-b', 'team-b/y');
    scene.inEks('gone', 'default/gone');
    scene.inEks('legacy', undefined);
    const told = new Map((await scene.find('FargateProfile')).map(({ name, facts = {} }) => [name, facts]));
    expect(told.get('default_web')).to.deep.equal({ relation: 'desired', pods: 0 });
    expect(told.get('default_old')?.['relation']).to.equal('different');
    expect(told.get('default_old')?.['differences']).to.contain('namespace shop');
    expect(told.get('default_taken')).to.deep.include({ relation: 'foreign', owner: 'AWSFargateProfile team-b/x' });
    expect(told.get('gone')).to.deep.include({ relation: 'unowned', owner: 'default/gone' });
    expect(told.get('legacy')).to.deep.equal({ relation: 'unowned', pods: 0 });
    expect(told.has('of-team-b'), 'a profile of an object of another namespace').to.equal(false);
  });

  it('tells why pods cannot start with a role', async () => {
    scene.object('web');
    scene.inEks('default_web', 'default/web');
    const state = async (): Promise<string> => (await scene.find('Role')).map((node) => node.state).join();
    expect(await state()).to.equal('does not exist');
    scene.role(false);
    expect(await state()).to.equal('no access entry');
    scene.role(true);
    expect(await state()).to.equal('has its access entry');
    scene.aws.admin.removeRole({ name: 'pods' });
    await scene.clock.advance(60_000);
    scene.role(false);
    expect(await state()).to.equal('outdated access entry');
    scene.aws.admin.setCluster({ name: EKS, region: REGION, authenticationMode: 'CONFIG_MAP' });
    expect(await state()).to.equal('mapped by aws-auth');
  });

  it('calls an object Ready only for the last change of its spec', async () => {
    scene.object('web', { observedGeneration: 0 });
    const [object] = await scene.find('AWSFargateProfile');
    expect(object).to.deep.include({ state: 'not Ready', result: 'problem' });
    expect(object?.message).to.match(/^the controller has not seen the last change of the spec/);
    expect(isFine(await scene.read(), true)).to.equal(false);
  });

  it('shows each message of the conditions once', async () => {
    const since = { lastTransitionTime: '2026-01-01T00:00:00Z' };
    const stalled = { status: 'True', reason: 'RoleNotFound', message: 'no role' };
    const conditions = [
      { type: 'Ready', ...stalled, status: 'False', ...since },
      { type: 'Stalled', ...stalled, ...since },
      { type: 'SelectorsOverlap', status: 'False', reason: 'NoOverlapSeen', message: '', ...since },
      { type: 'Available', status: 'False', reason: 'NoActiveProfile', message: 'none is ACTIVE', ...since },
    ];
    scene.object('web', { conditions });
    expect((await scene.find('Condition')).map(({ name }) => name)).to.deep.equal(['Ready', 'Available']);
  });

  for (const [type, shown] of [
    ['Replace', ['Ready', 'Available']],
    ['Reject', ['Ready']],
  ] as const)
    it(`shows that an object is Available if EKS has only the predecessor of its profile, with ${type}`, async () => {
      const since = { lastTransitionTime: '2026-01-01T00:00:00Z' };
      const conditions = [
        { type: 'Ready', status: 'False', reason: 'CreateFailed', message: 'no such subnet', ...since },
        { type: 'Available', status: 'True', reason: 'Active', message: 'ACTIVE in EKS: "default_web"', ...since },
      ];
      const spec = { selectors: [{ namespace: 'other' }], updateStrategy: { type } };
      scene.object('web', { profileName: 'default_web', conditions }, spec);
      scene.inEks('default_web', 'default/web');
      expect((await scene.find('Condition')).map(({ name }) => name)).to.deep.equal(shown);
    });

  it('shows the last three events of an object, the newest first', () => {
    const events = [1, 2, 3, 4].map((number): KubeObject => {
      const metadata = { name: `web.${number}`, namespace: 'default', uid: 'u', resourceVersion: '1' };
      const involvedObject = { kind: 'AWSFargateProfile', name: 'web' };
      const time = { lastTimestamp: '1970-01-01T00:01:00Z' };
      return {
        apiVersion: 'v1',
        kind: 'Event',
        metadata,
        involvedObject,
        type: 'Normal',
        reason: `R${number}`,
        ...time,
      };
    });
    const shown = eventNodes(events, 120_000).get('default/web') ?? [];
    expect(shown.map(({ name, state }) => `${name} ${state}`)).to.deep.equal([
      'R4 60s ago',
      'R3 60s ago',
      'R2 60s ago',
    ]);
  });

  it('shows an object without its Cluster, with where its profiles were', async () => {
    scene.object('web', { eksClusterName: EKS, region: REGION, account: ACCOUNT }, { clusterName: 'gone' });
    scene.inEks('default_web', 'default/web');
    const [root] = await scene.read();
    expect(root).to.deep.include({ kind: 'Cluster', name: 'default/gone', state: 'not seen' });
    expect((await scene.find('EKSCluster')).map(({ state }) => state)).to.deep.equal(['ACTIVE']);
    expect((await scene.find('FargateProfile')).map(({ state }) => state)).to.deep.equal(['ACTIVE']);
  });

  it('asks AWS nothing about an EKS cluster that neither a Cluster nor an object names', async () => {
    scene.object('web', {}, { clusterName: 'gone' });
    const [eks] = await scene.find('EKSCluster');
    expect(eks).to.deep.include({ state: 'not seen', message: 'neither a Cluster nor an object names it' });
    expect(scene.mostInFlight).to.equal(0);
  });

  it('tells nothing of AWS with credentials of another account', async () => {
    scene.object('web', { account: '999999999999', profileName: 'default_web', profileStatus: 'ACTIVE' });
    const [eks] = await scene.find('EKSCluster');
    expect(eks?.state).to.equal('not seen');
    expect(eks?.message).to.match(
      /^EKS cluster prod is in account 999999999999, and the credentials are of 123456789012\. /,
    );
    expect((await scene.find('FargateProfile'))[0]).to.deep.include({ state: 'ACTIVE', result: 'unchecked' });
  });

  it('shows a subnet without free addresses', async () => {
    const subnets = [{ id: 'subnet-1', freeAddresses: 0 }];
    scene.aws.admin.createCluster({ name: 'other', region: REGION, subnets });
    scene.object('web');
    scene.inEks('default_web', 'default/web', { subnets: ['subnet-1', 'subnet-2'] });
    expect((await scene.find('Subnet')).map(({ name, state }) => `${name} ${state}`)).to.deep.equal([
      'subnet-1 full',
      'subnet-2 absent',
    ]);
  });

  it('refuses a name that no object has, and one object that cannot be read hides no other', async () => {
    scene.object('web');
    expect(await messageOf(scene.read({ names: ['nope'] }))).to.equal(
      'there is no AWSFargateProfile default/nope; choose the namespace with -n, all with -A, or a --context',
    );
    scene.object('broken', {}, { selectors: 'all' });
    const objects = await scene.find('AWSFargateProfile');
    expect(objects.map(({ name, state }) => `${name} ${state}`)).to.deep.equal([
      'default/web Ready',
      'default/broken not readable',
    ]);
    expect(isFine(await scene.read(), true)).to.equal(false);
  });

  it('asks AWS about all profiles at the same time', async () => {
    for (let index = 0; index < 60; index++) scene.inEks(`p${index}`, undefined);
    const tree = [await readEksCluster({ name: EKS, region: REGION }, { ...scene.access(), management: undefined })];
    expect(nodesIn(tree).filter((node) => node.kind === 'FargateProfile')).to.have.length(60);
    expect(scene.mostInFlight).to.be.greaterThan(30);
  });
});
