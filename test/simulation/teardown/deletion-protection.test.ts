import { expect } from 'chai';
import { FINALIZER } from '../../../api/v1beta2/index.ts';
import { deleteHeld, denyAction, patchWeb, removeHeldFinalizers } from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, HOUR, MINUTE } from '../world/cluster.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';

const NAMES = ['web', 'api'] as const;
const REASON = 'ClusterDeletionProtected';
const MESSAGE =
  `EKS refuses to delete EKS cluster "${EKS_CLUSTER}" while its deletion protection is on. ` +
  'Deleting its Fargate profiles would only stop their pods, so the controller deletes nothing in AWS for this object. ' +
  `To delete the EKS cluster, run: aws eks update-cluster-config --name ${EKS_CLUSTER} --region us-east-1 --no-deletion-protection. ` +
  `To keep the EKS cluster, remove ${FINALIZER} from metadata.finalizers of this object; ` +
  'the profile and role then stay in AWS. Once the protection is off, the controller continues.';

describe('the deletion of a cluster with deletion protection', () => {
  let world: SimulatedWorld;

  beforeEach(async () => {
    world = new SimulatedWorld();
    await world.startWithReady(...NAMES);
  });

  const protect = (deletionProtection: boolean | 'absent'): void =>
    world.aws.admin.setCluster({ name: EKS_CLUSTER, deletionProtection });
  const deletions = (): readonly string[] =>
    world
      .mutations()
      .map(({ operation }) => operation)
      .filter((operation) => /^(Delete|Detach)/.test(operation));
  const expectKept = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) {
      expect(await world.reason(name, REASON, 'Deleting')).to.equal(MESSAGE);
      expect(world.condition(name, 'Stalled')).to.deep.include({ status: 'True', reason: REASON });
      expect(world.condition(name, 'Reconciling')?.status).to.equal('False');
      expect(world.eksProfile(name)?.status).to.equal('ACTIVE');
      expect(world.role(name)?.attachedPolicies).to.have.length(1);
    }
  };
  const finish = async (): Promise<void> => {
    await world.gone(...NAMES);
    expect(NAMES.map((name) => world.role(name))).to.deep.equal([undefined, undefined]);
    removeHeldFinalizers(world);
    await world.finish();
  };

  for (const [what, plural, name] of [
    ['Cluster and control plane', 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name],
    ['Cluster, with the profile objects before the control plane,', 'clusters', CLUSTER],
  ] as const)
    it(`deletes nothing in AWS after the deletion of the ${what} until the protection is off`, async () => {
      protect(true);
      deleteHeld(world, plural, name);
      world.delete(...NAMES);
      await expectKept(...NAMES);
      await world.clock.advance(HOUR);
      await expectKept(...NAMES);
      expect(deletions()).to.deep.equal([]);
      protect(false);
      const since = world.elapsed;
      await world.until('the deletion', () => deletions().length > 0);
      expect(world.elapsed - since).to.be.at.most(2 * MINUTE);
      await finish();
    });

  it('deletes nothing more when the protection is switched on in the middle', async () => {
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    const findBegun = () => NAMES.find((name) => world.eksProfile(name)?.status === 'DELETING');
    await world.until('the first deletion', () => findBegun() !== undefined);
    protect(true);
    const [begun, other] = findBegun() === 'web' ? NAMES : NAMES.toReversed();
    await expectKept(other);
    await world.reason(begun, REASON, 'Deleting');
    expect(world.eksProfile(begun), 'EKS had begun to delete it').to.equal(undefined);
    expect(world.role(begun)?.attachedPolicies).to.have.length(1);
    await world.clock.advance(HOUR);
    expect(deletions()).to.deep.equal(['DeleteFargateProfile']);
    protect(false);
    await finish();
  });

  it('goes on when EKS leaves the field out of its answer', async () => {
    protect('absent');
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await finish();
  });

  it('goes on when the protection cannot be read, with an event that says so', async () => {
    denyAction(world, 'eks:DescribeCluster');
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.gone(...NAMES);
    expect(world.eventMessages('FailedDescribeCluster')[0]).to.match(
      /^Failed to read whether the deletion protection of EKS cluster "\S+" is on\. Allow the controller to call eks:DescribeCluster, so that it deletes nothing while the protection is on\. The controller continues with the deletion, but EKS refuses to delete the cluster if the protection is on\. AWS says: .*AccessDenied/,
    );
    world.aws.admin.allow({ action: 'eks:DescribeCluster' });
    await finish();
  });

  it('keeps everything while EKS does not answer whether the protection is on', async () => {
    const id = world.aws.admin.addFault({ operation: 'DescribeCluster', kind: '500-before' });
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.clock.advance(10 * MINUTE);
    expect(deletions()).to.deep.equal([]);
    expect(NAMES.map((name) => world.eksProfile(name)?.status)).to.deep.equal(['ACTIVE', 'ACTIVE']);
    world.aws.admin.removeFault({ id });
    await finish();
  });

  it('does not concern an object that a user deletes by itself', async () => {
    protect(true);
    world.delete('web');
    await world.gone('web');
    expect(world.eksProfile('web')).to.equal(undefined);
    expect(world.role('web')).to.equal(undefined);
    await world.deleteAndFinish('api');
  });

  it('still says that Retain blocks it', async () => {
    patchWeb(world, { spec: { deletionPolicy: 'Retain' } });
    await world.until('the policy', () => world.condition('web', 'Ready')?.status === 'True');
    protect(true);
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.reason('web', 'RetainBlocksClusterDeletion', 'Stalled');
    await expectKept('api');
    patchWeb(world, { spec: { deletionPolicy: 'Delete' } });
    protect(false);
    await finish();
  });
});
