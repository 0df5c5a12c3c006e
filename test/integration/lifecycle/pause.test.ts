import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { conditionOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { clusterPath, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const PAUSED = 'cluster.x-k8s.io/paused';
const BY_CLUSTER = 'Cluster spec.paused is set to true';
const BY_ANNOTATION = 'AWSFargateProfile has the cluster.x-k8s.io/paused annotation';

// These tests check that a paused AWSFargateProfile is left alone. test/simulation/pause.test.ts checks on a virtual
// clock that the controller continues at once when the pause ends.
describe('an AWSFargateProfile', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  const pauseCluster = async (name: string, on: boolean): Promise<void> =>
    void (await world.controlPlane.api.patch(clusterPath(name), { spec: { paused: on } }));

  const annotate = (name: string, value: string | null): Promise<void> =>
    world.patch(name, { metadata: { annotations: { [PAUSED]: value } } });

  /** Waits until the Paused condition is True with exactly this message. */
  async function paused(name: string, message: string): Promise<RawObject> {
    const object = await eventually(
      async () => {
        const now = await world.profile(name);
        const found = now?.status?.conditions?.find(({ type }) => type === 'Paused');
        if (now === undefined || found?.status !== 'True' || found.message !== message)
          throw new Error(JSON.stringify(found));
        return now;
      },
      { what: `${name} being paused` },
    );
    expect(conditionOf(object, 'Paused')).to.include({
      status: 'True',
      reason: 'Paused',
      message,
      observedGeneration: object.metadata.generation,
    });
    return object;
  }

  async function resumed(name: string): Promise<RawObject> {
    const object = await world.condition(name, 'Paused', { status: 'False', reason: 'NotPaused' });
    expect(conditionOf(object, 'Paused')).not.to.have.property('message', BY_CLUSTER);
    expect(conditionOf(object, 'Paused').message ?? '').to.equal('');
    expect(conditionOf(object, 'Paused').observedGeneration).to.equal(object.metadata.generation);
    return object;
  }

  const stage = (name: string): string | undefined => world.awsView.profile(`default_${name}`)?.tags['stage'];

  for (const { how, name, pause, message } of [
    {
      how: 'its Cluster',
      name: 'still-by-cluster',
      pause: (object: string, on: boolean) => pauseCluster(object, on),
      message: BY_CLUSTER,
    },
    {
      how: 'its annotation',
      name: 'still-by-annotation',
      pause: (object: string, on: boolean) => annotate(object, on ? 'true' : null),
      message: BY_ANNOTATION,
    },
    // The pause annotation pauses an object whatever its value is, even with the value `false`.
    {
      how: 'its annotation with the value false',
      name: 'still-by-false',
      pause: (object: string, on: boolean) => annotate(object, on ? 'false' : null),
      message: BY_ANNOTATION,
    },
    {
      how: 'both',
      name: 'still-by-both',
      pause: async (object: string, on: boolean) => {
        await pauseCluster(object, on);
        await annotate(object, on ? '' : null);
      },
      message: `${BY_CLUSTER}, ${BY_ANNOTATION}`,
    },
  ])
    it(`paused by ${how} stays unchanged, and is reconciled at once when it is resumed`, async () => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
      const before = await world.ready(name);
      await pause(name, true);
      const asked = await paused(name, message);
      expect(asked.status?.conditions?.filter(({ type }) => type !== 'Paused')).to.deep.equal(
        before.status?.conditions?.filter(({ type }) => type !== 'Paused'),
      );

      const calls = callsFromNow(world.aws);
      await world.patch(name, { spec: { additionalTags: { stage: how } } });
      const { generation = 0 } = (await world.profile(name))?.metadata ?? {};
      const changed = await eventually(async () => {
        const object = (await world.profile(name)) as RawObject;
        expect(conditionOf(object, 'Paused').observedGeneration).to.equal(generation);
        return object;
      });
      expect(changed.status?.['observedGeneration']).to.equal(generation - 1);
      expect(conditionOf(changed, 'Ready').status).to.equal('True');
      expect(calls.all()).to.deep.equal([]);

      await pause(name, false);
      await eventually(() => stage(name) === how);
      await resumed(name);
    });

  it('created while its Cluster is paused gets no finalizer and nothing in AWS until it is resumed', async () => {
    await world.createEksCluster('new');
    await pauseCluster('new', true);
    await waitForCacheSync(world);
    const calls = callsFromNow(world.aws);
    await world.apply(fargateProfile('new', { clusterName: 'new' }));
    const object = await paused('new', BY_CLUSTER);
    expect(object.metadata.finalizers).to.equal(undefined);
    expect((await world.controlPlane.api.get(controlPlanePath('new'))).metadata.finalizers).to.equal(undefined);
    expect(calls.all()).to.deep.equal([]);
    await pauseCluster('new', false);
    await resumed('new');
    await world.ready('new');
  });

  for (const { by, pause, message } of [
    { by: 'its Cluster', pause: (name: string, on: boolean) => pauseCluster(name, on), message: BY_CLUSTER },
    {
      by: 'its annotation',
      pause: (name: string, on: boolean) => annotate(name, on ? '' : null),
      message: BY_ANNOTATION,
    },
  ])
    it(`paused by ${by} is not deleted in AWS before it is resumed`, async () => {
      const name = `leaving-${by.split(' ')[1]?.toLowerCase()}`;
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
      await world.ready(name);
      await pause(name, true);
      await paused(name, message);
      const calls = callsFromNow(world.aws);
      await world.delete(name);
      await eventually(async () => {
        const object = (await world.profile(name)) as RawObject;
        expect(conditionOf(object, 'Paused')).to.include({
          status: 'True',
          observedGeneration: object.metadata.generation,
        });
        expect(object.metadata.deletionTimestamp).to.be.a('string');
      });
      expect(calls.all()).to.deep.equal([]);
      await pause(name, false);
      await eventually(() => operationsOf(calls).includes('DeleteFargateProfile'));
      await world.gone(name);
    });

  it('paused by its Cluster is not part of the cluster teardown, and the control plane finalizer stays, until it is resumed', async () => {
    await world.createEksCluster('cascade');
    await world.apply(fargateProfile('cascade', { clusterName: 'cascade' }));
    await world.ready('cascade');
    await pauseCluster('cascade', true);
    await paused('cascade', BY_CLUSTER);
    const calls = callsFromNow(world.aws);
    const { finalizers } = (await world.controlPlane.api.get(controlPlanePath('cascade'))).metadata;
    await world.controlPlane.api.delete(controlPlanePath('cascade'));
    await waitForCacheSync(world);
    await annotate('cascade', '');
    const object = await paused('cascade', `${BY_CLUSTER}, ${BY_ANNOTATION}`);
    await annotate('cascade', null);
    await paused('cascade', BY_CLUSTER);
    expect(object.metadata.deletionTimestamp).to.equal(undefined);
    expect((await world.controlPlane.api.get(controlPlanePath('cascade'))).metadata.finalizers).to.deep.equal(
      finalizers,
    );
    expect(calls.all()).to.deep.equal([]);

    await pauseCluster('cascade', false);
    await eventually(() => operationsOf(calls).includes('DeleteFargateProfile'));
    await world.gone('cascade');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlanePath('cascade'))));
  });

  it('paused by its annotation is left out of the cluster teardown, which deletes the other profiles and waits for this one', async () => {
    await world.createEksCluster('partly');
    await world.apply(...['held', 'free'].map((name) => fargateProfile(name, { clusterName: 'partly' })));
    await Promise.all([world.ready('held'), world.ready('free')]);
    await annotate('held', '');
    await paused('held', BY_ANNOTATION);
    await world.controlPlane.api.delete(controlPlanePath('partly'));
    await world.gone('free');
    const held = await world.profile('held');
    expect(held?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.awsView.profile('default_held')?.status).to.equal('ACTIVE');
    expect(await world.controlPlane.api.exists(controlPlanePath('partly'))).to.equal(true);
    await annotate('held', null);
    await eventually(() => world.awsView.profile('default_held')?.status !== 'ACTIVE');
    await world.gone('held');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlanePath('partly'))));
  });

  for (const { by, pause } of [
    { by: 'its Cluster', pause: (name: string, on: boolean) => pauseCluster(name, on) },
    { by: 'its annotation', pause: (name: string, on: boolean) => annotate(name, on ? '' : null) },
  ])
    it(`paused by ${by} just before its role is deleted keeps the role, because the pause is read live`, async () => {
      const name = `late-${by.split(' ')[1]?.toLowerCase()}`;
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
      await world.ready(name);
      const calls = callsFromNow(world.aws);
      const forget = world.aws.onCall(async ({ operation }, phase) => {
        // The controller calls ListInstanceProfilesForRole before it decides to detach the policies of the role. The
        // controller gets the answer only after the test has paused the AWSFargateProfile.
        const isLast =
          operation === 'ListInstanceProfilesForRole' && world.awsView.profile(`default_${name}`) === undefined;
        if (phase === 'after' && isLast) {
          forget();
          await pause(name, true);
        }
      });
      await world.delete(name);
      await eventually(async () => {
        const object = (await world.profile(name)) as RawObject;
        return conditionOf(object, 'Paused').status === 'True';
      });
      expect(operationsOf(calls)).to.deep.equal(['DeleteFargateProfile']);
      expect(world.awsView.profile(`default_${name}`)).to.equal(undefined);
      expect(world.awsView.role(`${name}-default_${name}_fargate`)?.attachedPolicies).to.have.length(1);
      await pause(name, false);
      await world.gone(name);
      expect(operationsOf(calls)).to.deep.equal([
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
      ]);
    });
});
