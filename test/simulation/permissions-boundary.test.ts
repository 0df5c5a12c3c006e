import { expect } from 'chai';
import { fieldAt } from 'controller-runtime/json';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST, capaTags } from '../world/aws/capa-resources.ts';
import { ROLE, WEB, changeRoleByHand, patchWeb, startAndApply, startUntilReady } from './phases/phase.ts';
import { CLUSTER } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const [OURS, THEIRS] = ['arn:aws:iam::aws:policy/ReadOnlyAccess', 'arn:aws:iam::aws:policy/PowerUserAccess'];

const boundaryIn = (world: SimulatedWorld): string | undefined =>
  world.aws.admin.roles().find(({ name }) => name === ROLE)?.permissionsBoundary;

const recordedIn = (world: SimulatedWorld): unknown =>
  ['status', 'role', 'permissionsBoundary'].reduce<unknown>(fieldAt, world.profile(WEB));

/** Removes the status of the AWSFargateProfile, as `clusterctl move` and most backups do. */
function loseStatus(world: SimulatedWorld): void {
  const fields = Object.keys(fieldAt(world.profile(WEB), 'status') ?? {});
  world.patch(PLURAL, WEB, { status: Object.fromEntries(fields.map((field) => [field, null])) }, 'status');
}

describe('the permissions boundary of a role', () => {
  it('of Cluster API Provider AWS is kept when the role is taken over', async () => {
    const world = new SimulatedWorld();
    const tags = capaTags(CLUSTER);
    world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags, foreign: false, permissionsBoundary: THEIRS });
    await startUntilReady(world);
    expect(boundaryIn(world)).to.equal(THEIRS);
    expect(recordedIn(world)).to.equal(undefined);
    await world.deleteAndFinish(WEB);
  });

  it('that another client has put on the role is kept when the status is lost', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world);
    changeRoleByHand(world, ROLE, { permissionsBoundary: THEIRS });
    loseStatus(world);
    world.triggerReconcile(WEB);
    await world.ready(WEB);
    expect(boundaryIn(world)).to.equal(THEIRS);
    await world.deleteAndFinish(WEB);
  });

  it('that the spec names is recorded again when the status is lost', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { rolePermissionsBoundary: OURS });
    loseStatus(world);
    world.triggerReconcile(WEB);
    await world.ready(WEB);
    expect([boundaryIn(world), recordedIn(world)]).to.deep.equal([OURS, OURS]);
    await world.deleteAndFinish(WEB);
  });

  it('that the spec named is removed when the user removes it from the spec while EKS creates the profile', async () => {
    const world = new SimulatedWorld();
    startAndApply(world, { rolePermissionsBoundary: OURS });
    await world.until('the create', () => fieldAt(world.profile(WEB)?.['status'], 'profileStatus') === 'CREATING');
    expect(recordedIn(world)).to.equal(OURS);
    patchWeb(world, { spec: { rolePermissionsBoundary: null } });
    await world.ready(WEB);
    expect([boundaryIn(world), recordedIn(world)]).to.deep.equal([undefined, undefined]);
    await world.deleteAndFinish(WEB);
  });
});
