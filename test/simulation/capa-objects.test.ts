import { expect } from 'chai';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import { capaTags } from '../world/aws/capa-resources.ts';
import { WEB, changeRoleByHand, putCapaResources } from './phases/phase.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const ROLE = `${CLUSTER}-${WEB}_fargate`;
const OURS = 'sigs.k8s.io/cluster-api-provider-aws-fargate';

/**
 * Creates an AWSFargateProfile that Cluster API Provider AWS has reconciled, deletes it, and then starts the manager.
 * The manager cannot be sure that the Fargate profile belongs to this object: the control plane is not ready, and an
 * AWSFargateProfile of another namespace could name the same Fargate profile in its spec.
 */
function deletedObjectOfCapa(): SimulatedWorld {
  const world = new SimulatedWorld();
  putCapaResources(world, WEB, ROLE);
  world.setControlPlaneReady(false);
  world.create(PLURAL, {
    metadata: { name: WEB, finalizers: [FINALIZER] },
    spec: { clusterName: CLUSTER, profileName: WEB, selectors: [{ namespace: WEB }] },
  });
  world.delete(WEB);
  world.start();
  return world;
}

async function untilTagMissing(world: SimulatedWorld, of: string): Promise<string> {
  const message = (): string => world.condition(WEB, 'Deleting')?.message ?? '';
  await world.until(`the reason for the ${of}`, () => message().includes(of));
  expect(world.condition(WEB, 'Deleting')?.reason).to.equal('OwnershipTagMissing');
  return message();
}

describe('a deleted object of Cluster API Provider AWS whose control plane is not ready', () => {
  it('stays while AWS has its profile and role, and says what a user can do', async () => {
    const world = deletedObjectOfCapa();
    expect(await untilTagMissing(world, 'Fargate profile')).to.equal(
      `The deletion of this object waits: Fargate profile "web" lacks the tag ${OURS}/owner, so the controller does not change or delete it. If the Fargate profile belongs to this object, tag it with ${OURS}/owner=default/web, or delete it in AWS. If it belongs to another owner, set spec.deletionPolicy to Retain; the profile and role then stay in AWS. Without the tag, the controller changes nothing in AWS for this object.`,
    );
    world.aws.admin.setProfile({
      cluster: EKS_CLUSTER,
      name: WEB,
      tags: { ...capaTags(CLUSTER), [`${OURS}/owner`]: `default/${WEB}` },
    });
    expect(await untilTagMissing(world, 'IAM role')).to.contain(
      `IAM role "${ROLE}" lacks the tags ${OURS}/eks-cluster, ${OURS}/namespace`,
    );
    const eksCluster = world.aws.admin.snapshot().clusters[0]?.arn ?? '';
    const tags = { ...capaTags(CLUSTER), [`${OURS}/eks-cluster`]: eksCluster, [`${OURS}/namespace`]: 'default' };
    changeRoleByHand(world, ROLE, { tags });
    await world.gone(WEB);
    await world.finish();
  });

  it('is deleted with its profile and role when the control plane becomes ready', async () => {
    const world = deletedObjectOfCapa();
    await untilTagMissing(world, 'Fargate profile');
    world.setControlPlaneReady(true);
    await world.gone(WEB);
    await world.finish();
  });

  // The object has no record. For a minute, a request that a lost record contained could still show its result, so the
  // deletion waits.
  it('is deleted after a minute if it forbids the adoption', async () => {
    const world = deletedObjectOfCapa();
    world.patch(PLURAL, WEB, { spec: { adoptionPolicy: 'Never' } });
    await world.until('the end of the deletion', () => world.profile(WEB) === undefined, 2 * MINUTE);
    expect(world.mutations()).to.deep.equal([]);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: WEB });
    world.aws.admin.removeRole({ name: ROLE });
    await world.finish();
  });
});
