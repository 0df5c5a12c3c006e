import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { conditionOf, messageOf, stalled, summaryOf, waiting } from '../../world/object-state.ts';
import type { ProfileHistory } from '../../world/history.ts';
import { historyOf } from '../../world/history.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import type { World } from '../../world/world.ts';
import {
  ACCOUNT,
  clusterObject,
  clusterPath,
  controlPlanePath,
  fargateProfile,
  startWorld,
} from '../../world/world.ts';
import { HELD_MS } from '../../world/aws/operations.ts';

const PAUSED = 'cluster.x-k8s.io/paused';

describe('an AWSFargateProfile that waits', () => {
  let world: World;
  let history: ProfileHistory;
  before(async () => {
    world = await startWorld();
    history = historyOf(world);
    await world.startManager();
  });
  after(async () => {
    await history.stop();
    await world.finish();
  });

  // A failed test may leave the AWS emulator with another duration of creations. This hook resets it, so that the next
  // tests do not fail too.
  afterEach(() => world.aws.admin.setConfig({ eks: { createMs: 300 } }));

  const start = (name: string, spec: object = {}, metadata: object = {}): Promise<void> =>
    world.apply(fargateProfile(name, { clusterName: name, ...spec }, metadata));
  const waits = (name: string, reason: string): Promise<RawObject> =>
    world.condition(name, 'Ready', { status: 'False', reason });
  const patchCluster = (name: string, spec: object): Promise<RawObject> =>
    world.controlPlane.api.patch(clusterPath(name), { spec });

  describe('for its cluster', () => {
    it('reports each step until the control plane is ready, without an AWS call before', async () => {
      const { api } = world.controlPlane;
      const calls = callsFromNow(world.aws);
      await start('steps');
      const object = await waits('steps', 'WaitingForCluster');
      expect(summaryOf(object)).to.deep.equal(waiting('WaitingForCluster'));
      expect(messageOf(object, 'Ready')).to.equal(
        'Cluster default/steps (spec.clusterName) does not exist. The controller continues on its own when the Cluster exists. If spec.clusterName is wrong, delete this object and create it with the right name.',
      );
      expect(object.metadata.finalizers).to.equal(undefined);

      const says = (words: string): Promise<unknown> =>
        history.waitForMessage('steps', 'Ready', words).then((version) => {
          expect(summaryOf(version)).to.deep.equal(waiting('WaitingForEKSControlPlane'));
        });
      await world.apply({ ...clusterObject('steps'), spec: { paused: false } });
      await says(
        'Cluster default/steps has no spec.controlPlaneRef yet. If the Cluster has spec.topology, Cluster API sets this field. Otherwise set it yourself. The controller waits and then continues on its own.',
      );
      await world.apply(clusterObject('steps'));
      await says(
        'AWSManagedControlPlane default/steps-control-plane does not exist yet. If this name is wrong, correct spec.controlPlaneRef of Cluster default/steps. The controller waits and then continues on its own.',
      );
      const controlPlane = {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'AWSManagedControlPlane',
        metadata: { name: 'steps-control-plane', namespace: 'default' },
      };
      await world.apply({ ...controlPlane, spec: {} });
      await says(
        'AWSManagedControlPlane default/steps-control-plane has no spec.region. Set it. The controller waits and then continues on its own.',
      );
      await api.patch(controlPlanePath('steps'), { spec: { region: 'us-east-1' } });
      await says(
        'AWSManagedControlPlane default/steps-control-plane is not ready yet. The controller waits and then continues on its own.',
      );
      expect(calls.lines()).to.deep.equal([]);
      expect((await world.events('steps')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);

      await world.createEksCluster('steps');
      await world.ready('steps');
    });

    it('is stalled when the control plane is of an unsupported kind', async () => {
      const { spec } = clusterObject('kubeadm') as { spec: { controlPlaneRef: object } };
      const kubeadm = { ...spec.controlPlaneRef, kind: 'KubeadmControlPlane' };
      await world.apply({ ...clusterObject('kubeadm'), spec: { controlPlaneRef: kubeadm } });
      await start('kubeadm');
      const object = await waits('kubeadm', 'ControlPlaneUnsupported');
      expect(summaryOf(object)).to.deep.equal(stalled('ControlPlaneUnsupported'));
      expect(messageOf(object, 'Ready')).to.contain('KubeadmControlPlane').and.to.contain('AWSManagedControlPlane');
      await world.event('kubeadm', 'Warning ControlPlaneUnsupported');
      await world.createEksCluster('kubeadm');
      await world.ready('kubeadm');
    });

    it('does not wait again when the control plane is no longer ready', async () => {
      await world.createEksCluster('upgrading');
      await start('upgrading');
      const before = await world.ready('upgrading');
      await world.setControlPlaneReady('upgrading', false);
      // The test changes first the readiness of the control plane and then its spec.additionalTags, and the manager's
      // watch delivers the changes in this order. So when the Fargate profile in AWS has the tag, the controller has
      // seen both changes.
      await world.controlPlane.api.patch(controlPlanePath('upgrading'), { spec: { additionalTags: { seen: 'yes' } } });
      await eventually(() => world.awsView.profile('default_upgrading')?.tags['seen'] === 'yes');
      await world.patch('upgrading', { spec: { additionalTags: { during: 'upgrade' } } });
      await world.condition('upgrading', 'Ready', { status: 'True' }, { generation: 2 });
      expect(world.awsView.profile('default_upgrading')?.tags).to.include({ during: 'upgrade' });
      const readiness = history.of('upgrading').filter(({ status }) => status?.['ready'] === false);
      const sinceReady = readiness.filter(
        ({ metadata }) => Number(metadata.resourceVersion) > Number(before.metadata.resourceVersion),
      );
      expect(sinceReady).to.deep.equal([]);
      await world.delete('upgrading');
      await world.gone('upgrading');
    });
  });

  describe('for the end of a pause', () => {
    it('of the Cluster gets the Paused condition and nothing else', async () => {
      await world.createEksCluster('paused');
      await patchCluster('paused', { paused: true });
      await waitForCacheSync(world);
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

    it('of the object, with any value of the annotation, delays changes and the deletion', async () => {
      await world.createEksCluster('held');
      await start('held');
      await world.ready('held');
      const calls = callsFromNow(world.aws);
      await world.patch('held', { metadata: { annotations: { [PAUSED]: 'false' } } });
      const paused = await world.condition('held', 'Paused', { status: 'True', reason: 'Paused' });
      expect(messageOf(paused, 'Paused')).to.equal('AWSFargateProfile has the cluster.x-k8s.io/paused annotation');
      expect(conditionOf(paused, 'Ready')).to.include({ status: 'True' });

      await patchCluster('held', { paused: true });
      await history.waitForMessage(
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
      await history.waitForMessage('held', 'Paused', 'Cluster spec.paused is set to true', { last: true });
      expect(calls.about('default_held')).to.deep.equal([]);
      expect(world.awsView.profile('default_held')).to.include({ status: 'ACTIVE' });
      await patchCluster('held', { paused: null });
      await world.gone('held');
    });
  });

  describe('for its turn', () => {
    for (const status of ['CREATING', 'DELETING'] as const)
      it(`while EKS changes another owner’s profile (${status}) reports no error`, async () => {
        const name = `busy-${status.toLowerCase()}`;
        const { name: eks } = await world.createEksCluster(name);
        world.aws.admin.putProfile({
          cluster: eks,
          name: 'theirs',
          podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
          status,
        });
        await start(name);
        const object = await waits(name, 'WaitingForSibling');
        expect(summaryOf(object)).to.deep.equal(waiting('WaitingForSibling'));
        expect(messageOf(object, 'Ready')).to.contain('"theirs"');
        if (status === 'CREATING') world.aws.admin.setProfile({ cluster: eks, name: 'theirs', status: 'ACTIVE' });
        else world.aws.admin.removeProfile({ cluster: eks, name: 'theirs' });
        await world.ready(name);
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      });

    it('behind other AWSFargateProfiles names the object ahead, and EKS refuses no call', async () => {
      await world.createEksCluster('queue');
      const calls = callsFromNow(world.aws);
      const names = ['one', 'two', 'three', 'four'];
      // EKS completes the first creation only after the other three AWSFargateProfiles have reported that they wait.
      world.aws.admin.setConfig({ eks: { createMs: HELD_MS } });
      await Promise.all(names.map((name) => start(name, { clusterName: 'queue' })));
      const waited = (): readonly string[] =>
        names.filter((name) =>
          history
            .messages(name, 'Ready')
            .some((words) => words.startsWith('EKS changes only one Fargate profile of a cluster at a time')),
        );
      await eventually(() => expect(waited()).to.have.lengthOf(3));
      // Three AWSFargateProfiles can report that they wait before the controller has called CreateFargateProfile for
      // the fourth. So the test also waits for this call.
      const creating = await eventually(() => {
        const all = world.aws.admin.profiles().filter(({ status: is }) => is === 'CREATING');
        expect(all).to.have.lengthOf(1);
        return all;
      });
      world.aws.admin.setConfig({ eks: { createMs: 300 } });
      const { cluster = '', name: ahead = '' } = creating[0] ?? {};
      world.aws.admin.setProfile({ cluster, name: ahead, status: 'ACTIVE' });
      await Promise.all(names.map((name) => world.ready(name)));
      expect(calls.failures()).to.deep.equal([]);
      for (const name of names) {
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      }
    });
  });
});
