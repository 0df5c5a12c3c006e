import { expect } from 'chai';
import type { FakeKind } from '../../pkg/kube/testing/fake-api-server.ts';
import type { CallRecord } from '../aws/call-log.ts';
import { CLUSTER, KernelWorld, MINUTE } from './world.ts';

const NAMES = ['a', 'b', 'c'];
const DAY = 24 * 60 * MINUTE;
const ACCOUNT = '123456789012';
const ROLE: FakeKind = {
  group: 'infrastructure.cluster.x-k8s.io',
  kind: 'AWSClusterRoleIdentity',
  plural: 'awsclusterroleidentities',
  versions: ['v1beta2'],
  namespaced: false,
};

const trusting = (principalArn: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: { Effect: 'Allow', Principal: { AWS: principalArn }, Action: 'sts:AssumeRole' },
  });

/** A world whose control plane names the second of two roles that are assumed one with the other. */
function worldWithRoles(): KernelWorld {
  const world = new KernelWorld();
  world.api.serve(ROLE);
  const create = (name: string, spec: object): void => {
    world.create(ROLE.plural, { metadata: { name }, spec: { allowedNamespaces: {}, ...spec } });
  };
  const first = world.aws.admin.putRole({
    name: 'first',
    trustPolicy: trusting(`arn:aws:iam::${ACCOUNT}:user/manager-1`),
  });
  const second = world.aws.admin.putRole({ name: 'second', trustPolicy: trusting(first.arn) });
  create('first', { roleARN: first.arn });
  create('second', { roleARN: second.arn, sourceIdentityRef: { kind: ROLE.kind, name: 'first' } });
  world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, {
    spec: { identityRef: { kind: ROLE.kind, name: 'second' } },
  });
  return world;
}

describe('an identity', () => {
  it('that is a chain of roles serves for a day: each session is asked for once an hour for all, and none runs out', async () => {
    const world = worldWithRoles();
    const manager = world.start();
    world.apply(...NAMES);
    await world.ready(...NAMES);
    await world.clock.advance(DAY);
    world.delete(...NAMES);
    await world.gone(...NAMES);
    await world.finish();

    expect(world.troubles()).to.deep.equal([]);
    const calls = world.aws.admin.calls();
    const sessionsOf = (role: string): readonly CallRecord[] =>
      calls.filter(({ operation, nouns }) => operation === 'AssumeRole' && nouns['RoleArn']?.endsWith(`/${role}`));
    for (const role of ['first', 'second']) expect(sessionsOf(role).length, `sessions of ${role}`).to.be.within(24, 28);
    expect(new Set(sessionsOf('second').map(({ principalArn }) => principalArn))).to.deep.equal(
      new Set([`arn:aws:sts::${ACCOUNT}:assumed-role/first/capaf-first`]),
    );
    // The manager's own keys ask for the first session, and for nothing else.
    const own = calls.filter(({ accessKeyId }) => accessKeyId === manager.accessKeyId);
    expect(new Set(own.map(({ operation }) => operation))).to.deep.equal(new Set(['AssumeRole']));
    const others = new Set(
      calls.filter(({ service }) => service !== 'sts').map(({ principalArn }) => principalArn ?? ''),
    );
    expect(others).to.deep.equal(new Set([`arn:aws:sts::${ACCOUNT}:assumed-role/second/capaf-second`]));
  });

  it('whose session AWS ends before its time is mended within seconds', async () => {
    const world = worldWithRoles();
    world.start();
    world.apply('a');
    await world.ready('a');
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
