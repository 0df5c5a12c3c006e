import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { WEB, denyAction, patchWeb, startAndApply, startUntilReady } from './phases/phase.ts';
import { SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const RETAIN = 'aws-fargate.cluster.x-k8s.io/retain';
const retainAnnotation = (world: SimulatedWorld): string | undefined =>
  world.profile(WEB)?.metadata.annotations?.[RETAIN];

/** Deletes the object, and expects that it is gone within a second, without a call to AWS. */
async function expectReleased(world: SimulatedWorld): Promise<void> {
  const [profile, role, { length }] = [world.eksProfile(WEB), world.role(WEB), world.aws.admin.calls()];
  world.delete(WEB);
  await world.until('the release', () => world.profile(WEB) === undefined, SECOND);
  expect(world.aws.admin.calls().slice(length)).to.deep.equal([]);
  expect([world.eksProfile(WEB), world.role(WEB)]).to.deep.equal([profile, role]);
}

/** Creates the object again, so that it adopts the AWS resources that the deleted object has left. */
async function adopt(world: SimulatedWorld): Promise<void> {
  const { arn } = world.eksProfile(WEB) ?? expect.fail('there is no profile');
  const { length } = world.mutations();
  world.applyWith(WEB, { deletionPolicy: 'Delete' });
  await world.ready(WEB);
  expect(world.eksProfile(WEB)?.arn).to.equal(arn);
  expect(world.operations(length)).to.deep.equal([]);
}

describe('an object with deletionPolicy Retain', () => {
  it('leaves profile and role without a call to AWS, and the next object of this name adopts both', async (world) => {
    await startUntilReady(world, { deletionPolicy: 'Retain' });
    expect(retainAnnotation(world)).not.to.equal(undefined);
    await expectReleased(world);
    await world.until('the event', () => world.eventReasons.includes('RetainedEKSFargateProfile'));
    await adopt(world);
  });

  it('is deleted at once while EKS creates its profile, and without credentials', async (world) => {
    startAndApply(world, { deletionPolicy: 'Retain' });
    await world.reason(WEB, 'Creating');
    denyAction(world, '*');
    await expectReleased(world);
    world.aws.admin.allow();
    await world.until('the profile', () => world.eksProfile(WEB)?.status === 'ACTIVE');
    await adopt(world);
  });

  it('ends a deletion that AWS denies, if the policy is set meanwhile', async (world) => {
    await startUntilReady(world);
    denyAction(world, 'eks:DeleteFargateProfile');
    world.delete(WEB);
    await world.reason(WEB, 'AccessDenied', 'Deleting');
    patchWeb(world, { spec: { deletionPolicy: 'Retain' } });
    await world.gone(WEB);
    world.aws.admin.allow();
    await adopt(world);
  });

  it('keeps its profile when another CRD has dropped the field; only an explicit Delete ends that', async (world) => {
    await startUntilReady(world, { deletionPolicy: 'Retain' });
    patchWeb(world, { spec: { deletionPolicy: null } });
    await world.clock.advance(SECOND);
    await expectReleased(world);
    world.applyWith(WEB, { deletionPolicy: 'Retain' });
    await world.ready(WEB);
    patchWeb(world, { spec: { deletionPolicy: 'Delete' } });
    await world.until('no annotation', () => retainAnnotation(world) === undefined);
  });
});

describe('an object that is deleted and created again and again', () => {
  it('leaves neither profile nor role behind, also if it is deleted during its first AWS calls', async (world) => {
    world.start();
    for (const operation of ['CreateRole', 'CreateFargateProfile', undefined]) {
      const { length } = world.mutations();
      world.apply(WEB);
      if (operation === undefined) await world.ready(WEB);
      else await world.until(operation, () => world.operations(length).includes(operation));
      world.remove(PLURAL, WEB);
      await world.gone(WEB);
      expect([world.eksProfile(WEB), world.role(WEB)]).to.deep.equal([undefined, undefined]);
    }
    await world.finish();
    expect(world.warnings()).to.deep.equal([]);
  });
});
