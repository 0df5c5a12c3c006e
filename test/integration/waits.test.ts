import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { conditionOf, messageOf, stalled, standing, waiting } from '../world/standing.ts';
import type { History } from '../world/history.ts';
import { historyOf } from '../world/history.ts';
import { caughtUp } from '../world/caught-up.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, clusterObject, clusterPath, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

/** What EKS has begun then ends when the test says so. */
const NEVER_MS = 3_600_000;

const PAUSED = 'cluster.x-k8s.io/paused';

describe('what an AWSFargateProfile waits for', () => {
  let world: World;
  let history: History;
  before(async () => {
    world = await startWorld();
    history = historyOf(world);
    await world.startManager();
  });
  after(async () => {
    await history.stop();
    await world.finish();
  });

  // A test that fails is not to fail those after it.
  afterEach(() => world.aws.admin.setConfig({ eks: { createMs: 300 } }));

  const start = (name: string, spec: object = {}, metadata: object = {}): Promise<void> =>
    world.apply(fargateProfile(name, { clusterName: name, ...spec }, metadata));
  const waits = (name: string, reason: string): Promise<KubeObject> =>
    world.condition(name, 'Ready', { status: 'False', reason });
  const patchCluster = (name: string, spec: object): Promise<KubeObject> =>
    world.controlPlane.api.patch(clusterPath(name), { spec });

  describe('the cluster', () => {
    it('step by step, until there is a control plane that is ready; AWS is not asked before', async () => {
      const { api } = world.controlPlane;
      const calls = callsFromNow(world.aws);
      await start('steps');
      const object = await waits('steps', 'WaitingForCluster');
      expect(standing(object)).to.deep.equal(waiting('WaitingForCluster'));
      expect(messageOf(object, 'Ready')).to.equal('Cluster default/steps does not exist yet');
      expect(object.metadata.finalizers).to.equal(undefined);

      const says = (words: string): Promise<unknown> =>
        history.said('steps', 'Ready', words).then((version) => {
          expect(standing(version)).to.deep.equal(waiting('WaitingForEKSControlPlane'));
        });
      await world.apply({ ...clusterObject('steps'), spec: { paused: false } });
      await says('Cluster default/steps names no control plane yet');
      await world.apply(clusterObject('steps'));
      await says('AWSManagedControlPlane default/steps-control-plane does not exist yet');
      const controlPlane = {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'AWSManagedControlPlane',
        metadata: { name: 'steps-control-plane', namespace: 'default' },
      };
      await world.apply({ ...controlPlane, spec: {} });
      await says('AWSManagedControlPlane default/steps-control-plane has no spec.region yet');
      await api.patch(controlPlanePath('steps'), { spec: { region: 'us-east-1' } });
      await says('AWSManagedControlPlane default/steps-control-plane is not ready yet');
      expect(calls.lines()).to.deep.equal([]);
      expect((await world.events('steps')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);

      await world.createEksCluster('steps');
      await world.ready('steps');
    });

    it('whose control plane is of another kind: a human must act', async () => {
      const { spec } = clusterObject('kubeadm') as { spec: { controlPlaneRef: object } };
      const kubeadm = { ...spec.controlPlaneRef, kind: 'KubeadmControlPlane' };
      await world.apply({ ...clusterObject('kubeadm'), spec: { controlPlaneRef: kubeadm } });
      await start('kubeadm');
      const object = await waits('kubeadm', 'ControlPlaneUnsupported');
      expect(standing(object)).to.deep.equal(stalled('ControlPlaneUnsupported'));
      expect(messageOf(object, 'Ready')).to.contain('KubeadmControlPlane').and.to.contain('AWSManagedControlPlane');
      await world.event('kubeadm', 'Warning ControlPlaneUnsupported');
      await world.createEksCluster('kubeadm');
      await world.ready('kubeadm');
    });

    it('only at the beginning: a control plane that is no longer ready changes nothing', async () => {
      await world.createEksCluster('upgrading');
      await start('upgrading');
      const before = await world.ready('upgrading');
      await world.setControlPlaneReady('upgrading', false);
      // It comes after the readiness, in the same watch: what it does, it does knowing of that.
      await world.controlPlane.api.patch(controlPlanePath('upgrading'), { spec: { additionalTags: { seen: 'yes' } } });
      await eventually(() => world.inAws.profile('default_upgrading')?.tags['seen'] === 'yes');
      await world.patch('upgrading', { spec: { additionalTags: { during: 'upgrade' } } });
      await world.condition('upgrading', 'Ready', { status: 'True' }, { generation: 2 });
      expect(world.inAws.profile('default_upgrading')?.tags).to.include({ during: 'upgrade' });
      const readiness = history.of('upgrading').filter(({ status }) => status?.['ready'] === false);
      const sinceReady = readiness.filter(
        ({ metadata }) => Number(metadata.resourceVersion) > Number(before.metadata.resourceVersion),
      );
      expect(sinceReady).to.deep.equal([]);
      await world.delete('upgrading');
      await world.gone('upgrading');
    });
  });

  describe('the end of a pause', () => {
    it('of the Cluster: nothing but the condition happens meanwhile', async () => {
      await world.createEksCluster('paused');
      await patchCluster('paused', { paused: true });
      await caughtUp(world);
      const calls = callsFromNow(world.aws);
      await start('paused');
      const object = await world.condition('paused', 'Paused', { status: 'True', reason: 'Paused' });
      expect(messageOf(object, 'Paused')).to.equal('Cluster spec.paused is set to true');
      expect(conditionOf(object, 'Paused').observedGeneration).to.equal(1);
      expect(object.metadata.finalizers).to.equal(undefined);
      expect(object.metadata.ownerReferences).to.equal(undefined);
      await patchCluster('paused', { paused: false });
      const ready = await world.ready('paused');
      expect(conditionOf(ready, 'Paused')).to.include({ status: 'False', reason: 'NotPaused', message: '' });
      expect(calls.about('default_paused').length).to.be.greaterThan(0);
    });

    it('of the object, whatever the annotation’s value: changes and the deletion wait too', async () => {
      await world.createEksCluster('held');
      await start('held');
      await world.ready('held');
      const calls = callsFromNow(world.aws);
      await world.patch('held', { metadata: { annotations: { [PAUSED]: 'false' } } });
      const paused = await world.condition('held', 'Paused', { status: 'True', reason: 'Paused' });
      expect(messageOf(paused, 'Paused')).to.equal('AWSFargateProfile has the cluster.x-k8s.io/paused annotation');
      expect(conditionOf(paused, 'Ready')).to.include({ status: 'True' });

      await patchCluster('held', { paused: true });
      await history.said(
        'held',
        'Paused',
        'Cluster spec.paused is set to true, AWSFargateProfile has the cluster.x-k8s.io/paused annotation',
      );
      await world.patch('held', { spec: { additionalTags: { late: 'yes' } } });
      await world.condition('held', 'Paused', { status: 'True' }, { generation: 2 });
      await world.delete('held');
      await world.condition('held', 'Paused', { status: 'True' }, { generation: 3 });
      expect(calls.about('default_held')).to.deep.equal([]);

      await world.patch('held', { metadata: { annotations: { [PAUSED]: null } } });
      await history.said('held', 'Paused', 'Cluster spec.paused is set to true', { last: true });
      expect(calls.about('default_held')).to.deep.equal([]);
      expect(world.inAws.profile('default_held')).to.include({ status: 'ACTIVE' });
      await patchCluster('held', { paused: null });
      await world.gone('held');
    });
  });

  describe('its turn', () => {
    for (const status of ['CREATING', 'DELETING'] as const)
      it(`while EKS is busy with somebody else’s profile (${status}): never an error`, async () => {
        const name = `busy-${status.toLowerCase()}`;
        const { name: eks } = await world.createEksCluster(name);
        world.aws.admin.putProfile({
          cluster: eks,
          name: 'theirs',
          podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
          status,
          next: { afterMs: 2_000, to: status === 'CREATING' ? 'ACTIVE' : 'gone' },
        });
        await start(name);
        const object = await waits(name, 'WaitingForSibling');
        expect(standing(object)).to.deep.equal(waiting('WaitingForSibling'));
        expect(messageOf(object, 'Ready')).to.contain('"theirs"');
        await world.ready(name);
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      });

    it('behind others of its own kind: each says who is ahead, and EKS has to refuse nobody', async () => {
      await world.createEksCluster('queue');
      const calls = callsFromNow(world.aws);
      const names = ['one', 'two', 'three', 'four'];
      // EKS ends the first create when all others have said that they wait, however long that takes.
      world.aws.admin.setConfig({ eks: { createMs: NEVER_MS } });
      await Promise.all(names.map((name) => start(name, { clusterName: 'queue' })));
      const waited = (): readonly string[] =>
        names.filter((name) => history.messages(name, 'Ready').some((words) => words.includes('ahead')));
      await eventually(() => expect(waited()).to.have.lengthOf(3), { timeoutMs: 30_000 });
      world.aws.admin.setConfig({ eks: { createMs: 300 } });
      const [first, ...others] = world.aws.admin.profiles().filter(({ status: is }) => is === 'CREATING');
      expect(others).to.deep.equal([]);
      const { cluster = '', name: ahead = '' } = first ?? {};
      world.aws.admin.setProfile({ cluster, name: ahead, status: 'ACTIVE' });
      await Promise.all(names.map((name) => world.ready(name)));
      expect(calls.failures()).to.deep.equal([]);
      for (const name of names) {
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      }
    });
  });
});
