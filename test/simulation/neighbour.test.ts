import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST, capaTags } from '../world/aws/capa-resources.ts';
import { ROLE as WEB_ROLE, WEB, putCapaResources, startUntilReady } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';
import { recordAnnotation } from './world/records.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { isTenantReady } from './world/tenants.ts';

const INTRUDER = 'intruder';
const POLICY = 'arn:aws:iam::aws:policy/AdministratorAccess';

/** A second namespace of the API server. Its users write objects that name the EKS cluster of namespace `default`. */
class Neighbour {
  private readonly world: SimulatedWorld;

  constructor(world: SimulatedWorld) {
    this.world = world;
  }

  create(plural: string, object: Readonly<Record<string, unknown>>): void {
    this.world.api.storage.create(this.world.api.kind(plural), INTRUDER, object);
  }

  patch(plural: string, name: string, change: object, subresource?: 'status'): void {
    const { storage } = this.world.api;
    storage.mergePatch(this.world.api.kind(plural), { namespace: INTRUDER, name }, change, subresource);
  }

  remove(plural: string, name: string): void {
    this.world.api.storage.delete(this.world.api.kind(plural), { namespace: INTRUDER, name });
  }

  profile(name: string): KubeObject | undefined {
    return this.world.api.storage.get(this.world.api.kind(PLURAL), { namespace: INTRUDER, name });
  }

  createProfile(name: string, spec: object, metadata: object = {}): void {
    this.create(PLURAL, {
      metadata: { name, ...metadata },
      spec: { clusterName: CLUSTER, selectors: [{ namespace: name }], ...spec },
    });
  }

  /**
   * Creates in the second namespace a Cluster and a control plane with the same names as in namespace `default`. The
   * spec of the control plane names the EKS cluster of namespace `default`.
   */
  createCluster({ ready }: { readonly ready: boolean }): void {
    const subnets = this.world.object('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`)?.['spec'];
    this.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } });
    this.create('awsmanagedcontrolplanes', {
      metadata: { name: `${CLUSTER}-control-plane`, labels: { 'cluster.x-k8s.io/cluster-name': CLUSTER } },
      spec: subnets,
    });
    this.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, { status: { ready } }, 'status');
  }

  async deleteProfile(name: string): Promise<void> {
    this.remove(PLURAL, name);
    await this.world.until(`${INTRUDER}/${name} gone`, () => this.profile(name) === undefined, 60 * MINUTE);
  }
}

function reasonOf(object: KubeObject | undefined): unknown {
  const { conditions = [] } = (object?.['status'] ?? {}) as {
    conditions?: readonly { type: string; reason: string }[];
  };
  return conditions.find(({ type }) => type === 'Ready')?.reason;
}

describe('a client that writes the status of an object', () => {
  it('cannot move a live object to another region, because the manager restores the region', async (world) => {
    await startUntilReady(world);
    const before = world.mutations().length;
    const calls = world.aws.admin.calls().length;
    world.aws.admin.createCluster({ name: EKS_CLUSTER, region: 'af-south-1' });
    world.patch(PLURAL, WEB, { status: { region: 'af-south-1' } }, 'status');
    world.triggerReconcile(WEB);
    await world.clock.advance(30 * MINUTE);
    expect(world.profile(WEB)?.['status']).to.include({ region: 'us-east-1' });
    expect(
      world.aws.admin
        .calls()
        .slice(calls)
        .some(({ region }) => region === 'af-south-1'),
    ).to.equal(false);
    expect(world.mutations()).to.have.length(before);
  });
});

describe('a namespace that refers to the EKS cluster of another namespace', () => {
  it('cannot change or delete a role of the other namespace, even with a ready control plane', async (world) => {
    await world.startWithReady('web');
    const before = world.role('web');
    const neighbour = new Neighbour(world);
    neighbour.createCluster({ ready: true });
    neighbour.createProfile('thief', { roleName: WEB_ROLE, roleAdditionalPolicies: [POLICY] });
    await world.until('the neighbour is Ready', () => reasonOf(neighbour.profile('thief')) === 'Ready');
    expect(world.role('web'), 'the role while the neighbour uses it').to.deep.equal(before);
    await neighbour.deleteProfile('thief');
    expect(world.role('web'), 'the role after the neighbour').to.deep.equal(before);
  });

  it('does not learn who owns a profile or role before its control plane is ready', async (world) => {
    await world.startWithReady('web');
    const neighbour = new Neighbour(world);
    neighbour.createCluster({ ready: false });
    const claim = (name: string) => ({
      finalizers: [FINALIZER],
      annotations: recordAnnotation({ namespace: INTRUDER, name }),
    });
    world.aws.admin.putRole({
      name: `${CLUSTER}-${INTRUDER}_of-role_fargate`,
      trustPolicy: CAPA_TRUST,
      tags: { 'kubernetes.io/cluster/payments': 'owned' },
    });
    neighbour.createProfile('of-profile', { profileName: 'default_web' }, claim('of-profile'));
    neighbour.createProfile('of-role', {}, claim('of-role'));
    for (const name of ['of-profile', 'of-role']) {
      const isWaiting = (): boolean => reasonOf(neighbour.profile(name)) === 'WaitingForEKSControlPlane';
      await world.until(`${name} waits`, isWaiting);
      expect(JSON.stringify(neighbour.profile(name)?.['status'])).not.to.match(/default\/web|payments/);
      await neighbour.deleteProfile(name);
    }
    world.aws.admin.removeRole({ name: `${CLUSTER}-${INTRUDER}_of-role_fargate` });
  });

  it('cannot read selectors of the other namespace, or affect its SelectorsOverlap condition, by writing status', async (world) => {
    await world.startWithReady('web');
    const neighbour = new Neighbour(world);
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const claim = {
      account: ACCOUNT,
      region: 'us-east-1',
      eksClusterName: EKS_CLUSTER,
      profileARN: 'arn:aws:eks:us-east-1:1:fargateprofile/a/b/c',
      initialization: { provisioned: true },
      ready: true,
      observedGeneration: 1,
      conditions: [ready],
    };
    const targets = {
      'of-cluster': { clusterName: 'absent' },
      'of-eks-cluster': { clusterName: undefined, eksCluster: { name: EKS_CLUSTER, region: 'us-east-1' } },
    };
    for (const [name, target] of Object.entries(targets)) {
      neighbour.createProfile(name, { ...target, selectors: [{ namespace: '*' }] });
      await world.until(`${name} is refused`, () => reasonOf(neighbour.profile(name)) !== undefined);
      for (const _ of [1, 2, 3]) {
        neighbour.patch(PLURAL, name, { status: claim }, 'status');
        await world.clock.advance(5 * SECOND);
        expect(JSON.stringify(neighbour.profile(name)?.['status'])).not.to.match(/default\/web/);
        expect(world.condition('web', 'SelectorsOverlap')).to.include({ reason: 'NoOverlapSeen' });
      }
    }
  });

  it('cannot prevent the deletion of a role of the other namespace by specifying the role', async (world) => {
    await world.startWithReady('web');
    const roleARN = world.aws.admin.roles().find(({ name }) => name === WEB_ROLE)?.arn;
    const neighbour = new Neighbour(world);
    const annotations = recordAnnotation({ namespace: INTRUDER, name: 'thief' });
    neighbour.createProfile('thief', { roleARN, clusterName: 'none' }, { finalizers: [FINALIZER], annotations });
    world.delete('web');
    await world.gone('web');
    expect(world.aws.admin.roles().map(({ name }) => name)).not.to.include(WEB_ROLE);
    neighbour.patch(PLURAL, 'thief', { metadata: { finalizers: [] } });
    await neighbour.deleteProfile('thief');
  });

  it('keeps a role for a profile that it creates while the role is about to be deleted', async (world) => {
    await world.startWithReady('web');
    const neighbour = new Neighbour(world);
    neighbour.createCluster({ ready: true });
    const role = (): string | undefined => world.aws.admin.roles().find(({ name }) => name === WEB_ROLE)?.arn;
    const roleARN = role();
    // The manager tries to delete the role again while EKS has not yet answered the request to create the profile
    // `guest`.
    const fault = world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: '500-before' });
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'slow-before:9000', times: 1 });
    world.delete('web');
    const attempts = (): number => world.aws.admin.calls({ operation: 'DetachRolePolicy' }).length;
    await world.until('an attempt to delete the role', () => attempts() > 0, 30 * MINUTE);
    world.aws.admin.removeFault({ id: fault });
    neighbour.createProfile('guest', { profileName: 'guest', roleARN });
    await world.clock.advance(30 * MINUTE);
    expect({ guest: world.eksProfile('guest', 'guest')?.status, role: role() }).to.deep.equal({
      guest: 'ACTIVE',
      role: roleARN,
    });
    await neighbour.deleteProfile('guest');
    await world.gone('web');
    world.aws.admin.removeRole({ name: WEB_ROLE });
  });

  it('adopts nothing before its control plane is ready', async (world) => {
    const { arn } = world.aws.admin.putRole({ name: 'pods', trustPolicy: CAPA_TRUST });
    const [taken, untagged] = [capaTags(CLUSTER), {}].map((tags, index) =>
      world.aws.admin.putProfile({
        cluster: EKS_CLUSTER,
        name: `theirs-${index}`,
        podExecutionRoleArn: arn,
        selectors: [{ namespace: `theirs-${index}`, labels: {} }],
        tags,
      }),
    );
    const neighbour = new Neighbour(world);
    neighbour.createCluster({ ready: false });
    for (const [index, adoptionPolicy] of ['Owned', 'Always'].entries())
      neighbour.createProfile(
        `theirs-${index}`,
        { roleARN: arn, profileName: `theirs-${index}`, adoptionPolicy },
        { finalizers: [FINALIZER], annotations: recordAnnotation({ namespace: INTRUDER, name: `theirs-${index}` }) },
      );
    world.start();
    for (const name of ['theirs-0', 'theirs-1'])
      await world.until(`${name} waits`, () => reasonOf(neighbour.profile(name)) === 'WaitingForEKSControlPlane');
    await world.clock.advance(30 * MINUTE);
    for (const name of ['theirs-0', 'theirs-1']) neighbour.remove(PLURAL, name);
    await world.clock.advance(30 * MINUTE);
    expect(world.aws.admin.profiles()).to.deep.equal([taken, untagged]);
    expect(world.mutations()).to.deep.equal([]);
    // Nothing connects the profile without tags with the second namespace, so the deletion of `theirs-1` does not wait.
    // The profile with tags could belong to `theirs-0`, so this deletion waits until a user sets deletionPolicy to
    // Retain.
    expect(neighbour.profile('theirs-1')).to.equal(undefined);
    neighbour.patch(PLURAL, 'theirs-0', { spec: { deletionPolicy: 'Retain' } });
    await world.until('theirs-0 gone', () => neighbour.profile('theirs-0') === undefined);
    expect(world.mutations()).to.deep.equal([]);
    for (const { name } of world.aws.admin.profiles()) world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name });
    world.aws.admin.removeRole({ name: 'pods' });
  });

  it('cannot delete a profile or role of Cluster API Provider AWS by writing status', async (world) => {
    const tags = capaTags(CLUSTER);
    const role = world.aws.admin.putRole({ name: `${CLUSTER}-web_fargate`, trustPolicy: CAPA_TRUST, tags });
    const profile = world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'web',
      podExecutionRoleArn: role.arn,
      tags,
    });
    const neighbour = new Neighbour(world);
    neighbour.createProfile('thief', { profileName: 'web' }, { finalizers: [FINALIZER] });
    const status = { account: ACCOUNT, region: 'us-east-1', eksClusterName: EKS_CLUSTER, profileName: 'web' };
    neighbour.patch(PLURAL, 'thief', { status }, 'status');
    world.start();
    await neighbour.deleteProfile('thief');
    expect(world.mutations()).to.deep.equal([]);
    expect(world.aws.admin.profiles()).to.deep.equal([profile]);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'web' });
    world.aws.admin.removeRole({ name: role.name });
  });

  it('cannot adopt a profile or role that the other namespace adopts at the same time', async (world) => {
    world.aws.admin.setConfig({ latencyMs: 20 });
    const tags = capaTags(CLUSTER);
    const role = world.aws.admin.putRole({ name: `${CLUSTER}-web_fargate`, trustPolicy: CAPA_TRUST, tags });
    const selectors = [{ namespace: 'web', labels: {} }];
    world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: 'web', podExecutionRoleArn: role.arn, selectors, tags });
    const neighbour = new Neighbour(world);
    neighbour.createCluster({ ready: true });
    world.applyWith('web', { profileName: 'web' });
    neighbour.createProfile('web', { profileName: 'web' });
    world.start();
    const objects = (): readonly KubeObject[] => world.objects(PLURAL);
    await world.until('one object is not the owner', () =>
      objects().some((one) => reasonOf(one) === 'ProfileNotOwned'),
    );
    await world.until('the other object is Ready', () =>
      ['default', INTRUDER].some((each) => isTenantReady(world, each, 'web')),
    );
    await world.clock.advance(30 * MINUTE);
    const adoptions = world.mutations().filter(({ operation }) => ['TagResource', 'TagRole'].includes(operation));
    expect(adoptions.map(({ operation }) => operation).toSorted()).to.deep.equal(['TagResource', 'TagRole']);
    world.delete('web');
    neighbour.remove(PLURAL, 'web');
    await world.until('both are gone', () => objects().length === 0, 60 * MINUTE);
    expect(world.aws.admin.profiles()).to.deep.equal([]);
    expect(world.aws.admin.roles()).to.deep.equal([]);
  });

  it('adopts and deletes what Cluster API Provider AWS created with an explicit name for its ready control plane', async (world) => {
    putCapaResources(world, 'web', `${CLUSTER}-web_fargate`);
    await world.startWithReadyObject('web', { profileName: 'web' });
  });
});
