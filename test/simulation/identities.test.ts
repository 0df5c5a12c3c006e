import { expect } from 'chai';
import { errorStack } from 'controller-runtime/text';
import { IDENTITY_PLURALS, ROLE_IDENTITY_KIND } from '../../api/external/identity.ts';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { CallRecord } from '../aws/call-log.ts';
import { STATIC_IDENTITY, trustPolicyFor, userArn } from '../world/aws/identities.ts';
import { goodKeys, put, putSecret, putStaticIdentity } from './phases/identity-objects.ts';
import { deleteHeld, patchControlPlane, removeHeldFinalizers } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';
import { statusOf } from './world/problems.ts';
import { MANAGER_SECRET } from './world/simulated-manager.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { createTenantCluster } from './world/tenants.ts';

const NAMES = ['a', 'b', 'c'];
const DAY = 24 * 60 * MINUTE;
const ROLES = IDENTITY_PLURALS[ROLE_IDENTITY_KIND];

/**
 * Returns a simulation in which the manager assumes two IAM roles in a chain: it assumes the first role with its own
 * access key, and the second role with the credentials of the first. The `spec.identityRef` of the control plane names
 * the identity object of the second role.
 */
function worldWithRoles(): SimulatedWorld {
  const world = new SimulatedWorld();
  const create = (name: string, spec: object): void => {
    world.create(ROLES, { metadata: { name }, spec: { allowedNamespaces: {}, ...spec } });
  };
  const first = world.aws.admin.putRole({
    name: 'first',
    trustPolicy: trustPolicyFor(`arn:aws:iam::${ACCOUNT}:user/manager-1`),
  });
  const second = world.aws.admin.putRole({ name: 'second', trustPolicy: trustPolicyFor(first.arn) });
  create('first', { roleARN: first.arn });
  create('second', { roleARN: second.arn, sourceIdentityRef: { kind: ROLE_IDENTITY_KIND, name: 'first' } });
  world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, {
    spec: { identityRef: { kind: ROLE_IDENTITY_KIND, name: 'second' } },
  });
  return world;
}

describe('an identity', () => {
  it('of chained roles requests each session once an hour for all profiles, and no session expires during a day', async () => {
    const world = worldWithRoles();
    const manager = await world.startWithReady(...NAMES);
    await world.clock.advance(DAY);
    await world.deleteAndFinish(...NAMES);

    expect(world.problems()).to.deep.equal([]);
    const calls = world.aws.admin.calls();
    const sessionsOf = (role: string): readonly CallRecord[] =>
      calls.filter(
        ({ operation, identifiers }) => operation === 'AssumeRole' && identifiers['RoleArn']?.endsWith(`/${role}`),
      );
    for (const role of ['first', 'second']) expect(sessionsOf(role).length, `sessions of ${role}`).to.be.within(24, 28);
    expect(new Set(sessionsOf('second').map(({ principalArn }) => principalArn))).to.deep.equal(
      new Set([`arn:aws:sts::${ACCOUNT}:assumed-role/first/capaf-first`]),
    );
    const own = calls.filter(({ accessKeyId }) => accessKeyId === manager.accessKeyId);
    expect(new Set(own.map(({ operation }) => operation))).to.deep.equal(new Set(['AssumeRole']));
    const others = new Set(
      calls.filter(({ service }) => service !== 'sts').map(({ principalArn }) => principalArn ?? ''),
    );
    expect(others).to.deep.equal(new Set([`arn:aws:sts::${ACCOUNT}:assumed-role/second/capaf-second`]));
  });

  it('that the namespace may not use does not block the deletion of a profile that was never created, or of its cluster', async () => {
    const world = worldWithRoles();
    world.patch(ROLES, 'second', { spec: { allowedNamespaces: { list: ['elsewhere'] } } });
    world.start();
    world.apply(...NAMES);
    await world.until('the refusal', () =>
      NAMES.every((name) => world.condition(name, 'CredentialsReady')?.reason === 'IdentityNotAllowed'),
    );
    world.delete('a');
    await world.until('the end of the deletion', () => world.profile('a') === undefined, SECOND);
    await world.until('the event', () => world.eventReasons.includes('ReleasedWithoutCredentials'), SECOND);
    expect(world.eventMessages('ReleasedWithoutCredentials')).to.deep.equal([
      'The deletion ends without a call to AWS, because the controller has created nothing in AWS for this AWSFargateProfile. If you have restored the object from a backup, look in AWS for Fargate profile "default_a" and its role. The controller could not look for them: AWSClusterRoleIdentity "second" does not allow namespace "default": spec.allowedNamespaces of the identity does not list or select this namespace',
    ]);
    deleteHeld(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    await world.gone('b', 'c');
    removeHeldFinalizers(world);
    await world.finish();
  });

  it('gets a new session within seconds when AWS ends the session early', async () => {
    const world = worldWithRoles();
    await world.startWithReady('a');
    world.aws.admin.expireSessions();
    const since = world.elapsed;
    world.delete('a');
    await world.until('a asked to be deleted', () => world.mutationsFor('a').some(isDeletion), MINUTE);
    expect(world.elapsed - since).to.be.below(15_000);
    await world.gone('a');
    await world.finish();
  });
});

const isDeletion = ({ operation, status }: CallRecord): boolean =>
  operation === 'DeleteFargateProfile' && status === 200;

/** AWS accounts other than the account of the manager. */
const [OTHER, THIRD] = ['210987654321', '333344445555'] as const;

/** Creates the object `a` in an EKS cluster of the account, whose control plane names an identity. */
function applyIn(
  world: SimulatedWorld,
  account: string,
  identityRef: { readonly kind: string; readonly name: string },
): void {
  const { subnets } = world.aws.admin.createCluster({ name: EKS_CLUSTER, account });
  patchControlPlane(world, { spec: { identityRef } });
  const subnetIDs = subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
  world.applyWith('a', { subnetIDs });
}

const sessionsOf = (world: SimulatedWorld, roleArn: string) =>
  world.aws.admin.principals().filter(({ session }) => session?.roleArn === roleArn);

describe('an AWSClusterStaticIdentity', () => {
  const TEAM_A = { kind: STATIC_IDENTITY, name: 'team-a' };

  /** Returns a simulation with the object `a` Ready in another account, with the access key of the identity. */
  async function readyElsewhere() {
    const world = new SimulatedWorld();
    const keys = world.aws.admin.registerKey({ account: OTHER });
    putStaticIdentity(world, keys);
    world.start();
    applyIn(world, OTHER, TEAM_A);
    await world.ready('a');
    return { world, keys };
  }

  it('determines the AWS account of the profile and the role', async () => {
    const { world } = await readyElsewhere();
    const podExecutionRoleARN = `arn:aws:iam::${OTHER}:role/${CLUSTER}-default_a_fargate`;
    const { account, identityRef, ...status } = statusOf(world.profile('a'));
    expect({ account, identityRef }).to.deep.equal({ account: OTHER, identityRef: TEAM_A });
    expect(status.podExecutionRoleARN).to.equal(podExecutionRoleARN);
    expect([world.eksProfile('a')?.account, world.role('a')?.account]).to.deep.equal([OTHER, OTHER]);
    await world.deleteAndFinish('a');
  });

  it('uses new keys from the Secret without a restart, even after AWS has rejected the old keys', async () => {
    const { world, keys } = await readyElsewhere();
    world.aws.admin.removeKey(keys);
    world.patch(PLURAL, 'a', { spec: { additionalTags: { rotation: 'begun' } } });
    await world.reason('a', 'CredentialsInvalid', 'CredentialsReady');
    putSecret(world, goodKeys(world, OTHER));
    await world.until('the tag', () => world.eksProfile('a')?.tags['rotation'] === 'begun', MINUTE);
    await world.ready('a');
    await world.deleteAndFinish('a');
  });
});

describe('an AWSClusterRoleIdentity', () => {
  const MANAGER = userArn(ACCOUNT, 'manager-1');
  const GUEST = { kind: ROLE_IDENTITY_KIND, name: 'guest' };

  it('works at the end of a chain of three roles in three accounts, also after new keys at its root', async () => {
    const world = new SimulatedWorld();
    const root = { account: ACCOUNT, userName: 'root' };
    putStaticIdentity(world, world.aws.admin.registerKey(root));
    const arns: string[] = [];
    for (const [index, account] of [ACCOUNT, OTHER, THIRD].entries()) {
      const trustPolicy = trustPolicyFor(arns.at(-1) ?? userArn(ACCOUNT, 'root'));
      const source = index === 0 ? { kind: STATIC_IDENTITY, name: 'team-a' } : { ...GUEST, name: `role-${index - 1}` };
      const { arn: roleARN } = world.aws.admin.putRole({ name: `role-${index}`, account, trustPolicy });
      // AWS allows an hour at most for a role that is assumed from another role.
      put(world, GUEST.kind, `role-${index}`, {
        roleARN,
        sourceIdentityRef: source,
        durationSeconds: index === 2 ? 7_200 : 3_600,
      });
      arns.push(roleARN);
    }
    world.start();
    applyIn(world, THIRD, { ...GUEST, name: 'role-2' });
    await world.ready('a');
    expect(world.eksProfile('a')?.account).to.equal(THIRD);
    const counts = (): readonly number[] => arns.map((arn) => sessionsOf(world, arn).length);
    expect(counts()).to.deep.equal([1, 1, 1]);
    putSecret(world, world.aws.admin.registerKey(root));
    await world.until('new sessions', () => counts().join() === '2,2,2', 30 * MINUTE);
    await world.deleteAndFinish('a');
  });

  it('has one session for all regions', async () => {
    const world = new SimulatedWorld();
    const { arn: roleARN } = world.aws.admin.putRole({ name: 'guest', trustPolicy: trustPolicyFor(MANAGER) });
    put(world, GUEST.kind, 'guest', { roleARN });
    const there = { namespace: 'default', name: 'there', region: 'eu-west-1' };
    createTenantCluster(world, there);
    for (const name of [CLUSTER, 'there'])
      world.patch('awsmanagedcontrolplanes', `${name}-control-plane`, { spec: { identityRef: GUEST } });
    world.start();
    world.apply('a');
    world.applyWith('b', { clusterName: 'there' });
    await world.ready('a', 'b');
    expect(world.aws.admin.profiles().map(({ region }) => region)).to.have.members(['us-east-1', 'eu-west-1']);
    expect(sessionsOf(world, roleARN).map(({ arn }) => arn)).to.deep.equal([
      `arn:aws:sts::${ACCOUNT}:assumed-role/guest/capaf-guest`,
    ]);
    await world.deleteAndFinish('a', 'b');
  });
});

describe('the manager', () => {
  it('does not leak secrets into logs, events, objects, or metrics', async () => {
    const world = new SimulatedWorld();
    const keys = world.aws.admin.registerKey({ account: OTHER, userName: 'secretive' });
    putStaticIdentity(world, keys);
    const trustPolicy = trustPolicyFor(userArn(OTHER, 'secretive'));
    const { arn: roleARN } = world.aws.admin.putRole({ name: 'secretive', account: OTHER, trustPolicy });
    const sourceIdentityRef = { kind: STATIC_IDENTITY, name: 'team-a' };
    put(world, ROLE_IDENTITY_KIND, 'secretive', { roleARN, sourceIdentityRef });
    const manager = world.start('--v', '10');
    world.apply('own');
    await world.ready('own');
    world.delete('own');
    await world.gone('own');
    applyIn(world, OTHER, { kind: ROLE_IDENTITY_KIND, name: 'secretive' });
    await world.ready('a');
    const token = sessionsOf(world, roleARN)[0]?.session?.token ?? '';
    expect(token).to.have.length.above(40);
    // AWS refuses calls with a removed key or an expired session, and these messages must not have a secret either.
    world.aws.admin.removeKey(keys);
    world.aws.admin.expireSessions();
    world.patch(PLURAL, 'a', { spec: { additionalTags: { look: 'again' } } });
    await world.reason('a', 'CredentialsInvalid', 'CredentialsReady');
    const output = [
      ...manager.logger.lines.map(({ error, ...line }) => `${JSON.stringify(line)} ${errorStack(error)}`),
      JSON.stringify([world.objects(PLURAL), world.objects('events')]),
      await manager.metrics.metrics(),
    ].join('\n');
    expect(output).to.include('AssumeRole').and.include('secretive').and.include('aws_api_requests_total');
    for (const secret of [MANAGER_SECRET, keys.secretAccessKey, token])
      for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
        expect(output.includes(form), `a secret of ${secret.length} characters`).to.equal(false);
    putSecret(world, world.aws.admin.registerKey({ account: OTHER, userName: 'secretive' }));
    await world.ready('a');
    await world.deleteAndFinish('a');
  });
});
