import { expect } from 'chai';
import { CONTROLLER_IDENTITY_KIND, IDENTITY_PLURALS, ROLE_IDENTITY_KIND } from '../../api/external/identity.ts';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import type { CallRecord } from '../aws/call-log.ts';
import { deleteHeld, removeHeldFinalizers } from './phases/phase.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';

const NAMES = ['a', 'b', 'c'];
const DAY = 24 * 60 * MINUTE;
const ACCOUNT = '123456789012';
const ROLES = IDENTITY_PLURALS[ROLE_IDENTITY_KIND];
const CONTROLLER_IDENTITIES = IDENTITY_PLURALS[CONTROLLER_IDENTITY_KIND];

const trusting = (principalArn: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: { Effect: 'Allow', Principal: { AWS: principalArn }, Action: 'sts:AssumeRole' },
  });

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
    trustPolicy: trusting(`arn:aws:iam::${ACCOUNT}:user/manager-1`),
  });
  const second = world.aws.admin.putRole({ name: 'second', trustPolicy: trusting(first.arn) });
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

  it('that the namespace may not use does not hold up the deletion of a profile that never began, nor of its cluster', async () => {
    const world = worldWithRoles();
    world.patch(ROLES, 'second', { spec: { allowedNamespaces: { list: ['elsewhere'] } } });
    world.start();
    world.apply(...NAMES);
    await world.until('the refusal', () =>
      NAMES.every((name) => world.condition(name, 'CredentialsReady')?.reason === 'IdentityNotAllowed'),
    );
    world.delete('a');
    await world.until('the end of the deletion', () => world.profile('a') === undefined, SECOND);
    const events = (): readonly unknown[] =>
      world
        .objects('events')
        .flatMap(({ reason, message }) => (reason === 'ReleasedWithoutCredentials' ? message : []));
    await world.until('the event', () => events().length > 0, SECOND);
    expect(events()).to.deep.equal([
      'The deletion ends without a call to AWS, because the controller has created nothing in AWS for this AWSFargateProfile. If you have restored the object from a backup, look in AWS for Fargate profile "default_a" and its role. The controller could not look for them: AWSClusterRoleIdentity "second" does not allow namespace "default": spec.allowedNamespaces of the identity does not list or select this namespace',
    ]);
    deleteHeld(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    await world.gone('b', 'c');
    removeHeldFinalizers(world);
    await world.finish();
  });

  it('called default decides who may use the credentials of the manager, also without a reference to it', async () => {
    const world = new SimulatedWorld();
    const allow = (...list: readonly string[]) => ({ spec: { allowedNamespaces: { list } } });
    world.create(CONTROLLER_IDENTITIES, { metadata: { name: 'default' }, ...allow('other') });
    world.start();
    world.apply('a');
    await world.until('a may not', () => world.condition('a')?.reason === 'IdentityNotAllowed', MINUTE);
    world.patch(CONTROLLER_IDENTITIES, 'default', allow('other', 'default'));
    await world.ready('a');
    world.patch(CONTROLLER_IDENTITIES, 'default', allow('other'));
    await world.until('a may no more', () => world.condition('a')?.reason === 'IdentityNotAllowed', MINUTE);
    world.patch(CONTROLLER_IDENTITIES, 'default', allow('default'));
    await world.ready('a');
    await world.deleteAndFinish('a');
  });

  it('whose reference a client removes from the status does not leave the credentials of the manager', async () => {
    const world = new SimulatedWorld();
    world.create(CONTROLLER_IDENTITIES, {
      metadata: { name: 'default' },
      spec: { allowedNamespaces: { list: ['other'] } },
    });
    world.create(PLURAL, { metadata: { name: 'a', finalizers: [FINALIZER] }, spec: { clusterName: 'gone' } });
    const status = { account: ACCOUNT, region: 'us-east-1', eksClusterName: EKS_CLUSTER, profileName: 'default_a' };
    world.patch(PLURAL, 'a', { status }, 'status');
    world.start();
    world.delete('a');
    await world.until(
      'a may not',
      () => world.condition('a', 'CredentialsReady')?.reason === 'IdentityNotAllowed',
      MINUTE,
    );
    expect(world.aws.admin.calls()).to.deep.equal([]);
    world.remove(CONTROLLER_IDENTITIES, 'default');
    await world.gone('a');
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
