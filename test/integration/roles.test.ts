import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  DeleteRolePolicyCommand,
  PutRolePolicyCommand,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import type { RoleView } from '../aws/views.ts';
import type { KubeObject } from '../envtest/api.ts';
import { callsFromNow } from '../world/calls.ts';
import type { Calls } from '../world/calls.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/from-capa.ts';
import { OWN_NAMESPACE, STATIC, createStaticIdentity } from '../world/identities.ts';
import { lookAgain } from '../world/look-again.ts';
import { eventually } from '../support/eventually.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { Stranger } from '../world/stranger.ts';
import { strangerIn } from '../world/stranger.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../world/world.ts';

/** What EKS has begun then ends when the test says so. */
const NEVER_MS = 3_600_000;

const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

describe('the role of the pods', () => {
  let world: World;
  let stranger: Stranger;
  before(async () => {
    world = await startWorld();
    stranger = strangerIn(world);
    await world.startManager();
  });
  after(async () => {
    stranger.close();
    await world.finish();
  });

  const start = (name: string, spec: object): Promise<void> => world.apply(fargateProfile(name, spec));
  const ready = (...names: readonly string[]): Promise<readonly KubeObject[]> =>
    Promise.all(names.map((name) => world.ready(name)));

  async function remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
  }

  async function stopped(name: string, reason: string): Promise<string> {
    const object = await world.condition(name, 'Stalled', { status: 'True', reason });
    expect(standing(object).Stalled).to.equal(stalled(reason).Stalled);
    return messageOf(object, 'Stalled');
  }

  function roleOf(name: string): RoleView {
    return world.inAws.role(name) ?? expect.fail(`there is no role ${name}`);
  }

  /** Does something while AWS is about to carry out the first such call; the call waits for it. */
  function once(operation: string, doIt: (call: CallRecord) => Promise<void>): () => void {
    let isDone = false;
    return world.aws.onCall(async (call, phase) => {
      if (isDone || phase !== 'before' || call.operation !== operation) return;
      isDone = true;
      await doIt(call);
    });
  }

  describe('shared by several objects that name it', () => {
    // A test that fails is not to fail those after it.
    afterEach(() => world.aws.admin.setConfig({ eks: { deleteMs: 300 } }));

    it('is made once for three that come at once, with the tags of all, and goes with the last', async () => {
      const names = ['three-a', 'three-b', 'three-c'];
      await world.createEksCluster('three');
      const calls = callsFromNow(world.aws);
      await Promise.all(
        names.map((name) =>
          start(name, { clusterName: 'three', roleName: 'three-pods', additionalTags: { [name]: 'yes' } }),
        ),
      );
      await ready(...names);
      expect(calls.about('three-pods').filter(({ operation }) => operation === 'CreateRole')).to.have.length(1);
      expect(roleOf('three-pods').tags).to.include({ 'three-a': 'yes', 'three-b': 'yes', 'three-c': 'yes' });
      expect(roleOf('three-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
      await remove(...names);
      expect(world.inAws.role('three-pods')).to.equal(undefined);
      expect(calls.about('three-pods').filter(({ operation }) => operation === 'DeleteRole')).to.have.length(1);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('stays for one that comes while the other’s profile goes', async () => {
      const spec = { clusterName: 'relay', roleName: 'relay-pods' };
      const { name: cluster } = await world.createEksCluster('relay');
      await start('relay-first', spec);
      await ready('relay-first');
      const { id } = roleOf('relay-pods');
      // It goes when the other has come, however long that takes.
      world.aws.admin.setConfig({ eks: { deleteMs: NEVER_MS } });
      await world.delete('relay-first');
      await eventually(() => world.inAws.profile('default_relay-first')?.status === 'DELETING');
      world.aws.admin.setConfig({ eks: { deleteMs: 300 } });
      await start('relay-second', spec);
      await world.condition('relay-second', 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
      world.aws.admin.removeProfile({ cluster, name: 'default_relay-first' });
      await world.gone('relay-first');
      await ready('relay-second');
      expect(roleOf('relay-pods').id).to.equal(id);
      await remove('relay-second');
      expect(world.inAws.role('relay-pods')).to.equal(undefined);
    });

    for (const operation of ['ListAttachedRolePolicies', 'DetachRolePolicy', 'DeleteRole'])
      it(`is there and whole for one that comes at the other’s ${operation}`, async () => {
        const cluster = `late-${operation.toLowerCase()}`;
        const [first, second, roleName] = [`${cluster}-first`, `${cluster}-second`, `${cluster}-pods`];
        const spec = { clusterName: cluster, roleName };
        await world.createEksCluster(cluster);
        await start(first, spec);
        await ready(first);
        await world.delete(first);
        await eventually(() => world.inAws.profile(`default_${first}`)?.status === 'DELETING', { intervalMs: 5 });
        const forget = once(operation, () => start(second, spec));
        await world.gone(first);
        forget();
        const [object] = await ready(second);
        const { id, attachedPolicies } = roleOf(roleName);
        expect(object?.status?.['role']).to.deep.include({ name: roleName, id, managed: true });
        expect(attachedPolicies).to.deep.equal([EKS_POLICY]);
        await remove(second);
        expect(world.inAws.role(roleName)).to.equal(undefined);
      });

    it('goes when those that share it go at once, whoever is last', async () => {
      const names = ['exit-a', 'exit-b', 'exit-c', 'exit-d'];
      const { name: cluster } = await world.createEksCluster('exit');
      // Somebody else’s profile is in the lane: no profile is there to put the ends of the objects in an order.
      world.aws.admin.putProfile({
        cluster,
        name: 'theirs',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
        status: 'CREATING',
      });
      for (let round = 0; round < 3; round++) {
        await Promise.all(names.map((name) => start(name, { clusterName: 'exit', roleName: 'exit-pods' })));
        for (const name of names) {
          await world.condition(name, 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
        }
        expect(roleOf('exit-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
        await remove(...names);
        expect(world.inAws.role('exit-pods'), `round ${round}`).to.equal(undefined);
      }
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
    });

    it('does not stay for one that waits for the credentials of another account, which gets its own there', async () => {
      const account = '210987654321';
      const share = { roleName: 'everywhere' };
      await world.createEksCluster('here');
      await world.createEksCluster('abroad', { account, identityRef: { kind: STATIC, name: 'abroad' } });
      await start('ours', { clusterName: 'here', ...share });
      await ready('ours');
      await start('theirs', { clusterName: 'abroad', ...share });
      const { metadata } = await world.condition('theirs', 'CredentialsReady', {
        status: 'False',
        reason: 'IdentityNotFound',
      });
      expect(metadata.finalizers).to.have.length(1);
      await remove('ours');
      expect(world.inAws.role('everywhere')).to.equal(undefined);

      await world.createNamespace(OWN_NAMESPACE);
      await createStaticIdentity(world, 'abroad', account);
      await ready('theirs');
      expect(roleOf('everywhere').account).to.equal(account);
      await remove('theirs');
    });

    it('with different settings: the younger is told whose and which; it goes on when it agrees', async () => {
      const [mine, theirs] = ['boundary-mine', 'boundary-theirs'].map((name) => world.aws.admin.putPolicy({ name }));
      const spec = { clusterName: 'quarrel', roleName: 'quarrel-pods' };
      await world.createEksCluster('quarrel');
      await start('quarrel-older', { ...spec, rolePermissionsBoundary: mine, additionalTags: { owner: 'older' } });
      await ready('quarrel-older');
      const before = roleOf('quarrel-pods');
      const calls = callsFromNow(world.aws);
      await start('quarrel-younger', {
        ...spec,
        rolePath: '/teams/',
        rolePermissionsBoundary: theirs,
        roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
        additionalTags: { owner: 'younger', own: 'fine' },
      });
      expect(await stopped('quarrel-younger', 'RoleSettingsConflict')).to.equal(
        'IAM role "quarrel-pods" is used by AWSFargateProfile default/quarrel-older too, and this object wants it otherwise: ' +
          'rolePath, rolePermissionsBoundary, roleAdditionalPolicies, additionalTags["owner"]. ' +
          'Give both the same role settings, or this object a role of its own in spec.roleName.',
      );
      await world.event('quarrel-younger', 'Warning RoleSettingsConflict');
      expect(operations(calls)).to.deep.equal([]);
      expect(roleOf('quarrel-pods')).to.deep.equal(before);
      await world.patch('quarrel-younger', {
        spec: {
          rolePath: null,
          rolePermissionsBoundary: mine,
          roleAdditionalPolicies: null,
          additionalTags: { owner: 'older' },
        },
      });
      await ready('quarrel-younger', 'quarrel-older');
      expect(roleOf('quarrel-pods')).to.deep.equal({ ...before, tags: { ...before.tags, own: 'fine' } });
      await remove('quarrel-younger', 'quarrel-older');
      expect(world.inAws.role('quarrel-pods')).to.equal(undefined);
    });

    it('with different settings: the younger goes on at once when the older agrees with it', async () => {
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      const spec = { clusterName: 'yield', roleName: 'yield-pods' };
      await world.createEksCluster('yield');
      await start('yield-older', spec);
      await ready('yield-older');
      await start('yield-younger', { ...spec, roleAdditionalPolicies: [policy] });
      await stopped('yield-younger', 'RoleSettingsConflict');
      await world.patch('yield-older', { spec: { roleAdditionalPolicies: [policy] } });
      await ready('yield-younger', 'yield-older');
      expect(roleOf('yield-pods').attachedPolicies).to.have.members([EKS_POLICY, policy]);
      await remove('yield-younger', 'yield-older');
    });

    it('with different settings: the younger has its way as soon as the older goes', async () => {
      const boundary = world.aws.admin.putPolicy({ name: 'boundary-heir' });
      const spec = { clusterName: 'heir', roleName: 'heir-pods' };
      await world.createEksCluster('heir');
      await start('heir-older', spec);
      await ready('heir-older');
      await start('heir-younger', { ...spec, rolePermissionsBoundary: boundary });
      await stopped('heir-younger', 'RoleSettingsConflict');
      await remove('heir-older');
      await ready('heir-younger');
      expect(roleOf('heir-pods').permissionsBoundary).to.equal(boundary);
      await remove('heir-younger');
    });
  });

  describe('that somebody else made', () => {
    for (const [how, spec] of [
      ['its name', { roleName: 'platform-pods' }],
      ['its ARN', { roleARN: `arn:aws:iam::${ACCOUNT}:role/platform-pods` }],
    ] as const)
      it(`and that is named by ${how} is never made anew when it vanishes`, async () => {
        const name = `platform-${how.at(-1)?.toLowerCase()}`;
        const putRole = () => world.aws.admin.putRole({ name: 'platform-pods', trustPolicy: CAPA_TRUST });
        await world.createEksCluster(name);
        putRole();
        await start(name, { clusterName: name, ...spec });
        await ready(name);
        world.aws.admin.removeRole({ name: 'platform-pods' });
        const calls = callsFromNow(world.aws);
        await lookAgain(world, name);
        expect(await stopped(name, 'RoleNotFound')).to.contain('IAM role "platform-pods" does not exist');
        await world.event(name, 'Warning RoleNotFound');
        expect(operations(calls)).to.deep.equal([]);
        expect(world.inAws.profile(`default_${name}`)?.status, 'pods that run go on').to.equal('ACTIVE');
        putRole();
        await lookAgain(world, name);
        await ready(name);
        await remove(name);
        expect(operations(calls)).to.deep.equal(['DeleteFargateProfile']);
        world.aws.admin.removeRole({ name: 'platform-pods' });
      });

    it('stays as long as a profile of somebody else uses it, though it is ours', async () => {
      const { name: cluster } = await world.createEksCluster('borrowed');
      await start('lender', { clusterName: 'borrowed', roleName: 'borrowed-pods' });
      await ready('lender');
      const role = roleOf('borrowed-pods');
      world.aws.admin.putProfile({ cluster, name: 'theirs', podExecutionRoleArn: role.arn });
      const calls = callsFromNow(world.aws);
      await remove('lender');
      expect(operations(calls)).to.deep.equal(['DeleteFargateProfile']);
      expect(roleOf('borrowed-pods')).to.deep.equal(role);
      // Whoever uses it has it to look after now; an object that names it finds it again.
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
      await start('lender', { clusterName: 'borrowed', roleName: 'borrowed-pods' });
      await ready('lender');
      await remove('lender');
      expect(world.inAws.role('borrowed-pods')).to.equal(undefined);
    });
  });

  it('is not deleted while somebody’s inline policy and instance profile hang on it: both are named, and it goes on', async () => {
    const RoleName = 'blocked-default_blocked_fargate';
    const [PolicyName, InstanceProfileName, PolicyDocument] = ['by-hand', 'nodes', CAPA_TRUST];
    const { iam } = stranger;
    await world.createEksCluster('blocked');
    await start('blocked', { clusterName: 'blocked' });
    await ready('blocked');
    await iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument }));
    await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName }));
    await iam.send(new AddRoleToInstanceProfileCommand({ RoleName, InstanceProfileName }));
    const before = roleOf(RoleName);
    const calls = callsFromNow(world.aws);
    await world.delete('blocked');
    expect(await stopped('blocked', 'RoleBlocked')).to.equal(
      `IAM role "${RoleName}" cannot be deleted while it has the inline policy "by-hand", the instance profile "nodes". ` +
        'Take that off the role; the deletion goes on by itself.',
    );
    expect(operations(calls)).to.deep.equal(['DeleteFargateProfile']);
    expect(roleOf(RoleName)).to.deep.equal(before);
    await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    await lookAgain(world, 'blocked');
    await eventually(async () => {
      const object = (await world.profile('blocked')) ?? expect.fail('it went');
      expect(messageOf(object, 'Stalled')).to.contain('while it has the instance profile "nodes". ');
    });
    await iam.send(new RemoveRoleFromInstanceProfileCommand({ RoleName, InstanceProfileName }));
    await iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
    await lookAgain(world, 'blocked');
    await world.gone('blocked');
    expect(operations(calls)).to.deep.equal(['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteRole']);
    expect(calls.failures()).to.deep.equal([]);
  });

  describe('while IAM’s parts do not agree', () => {
    afterEach(() => {
      world.aws.admin.setConfig({
        iam: {
          readAfterCreateMs: 0,
          readAfterUpdateMs: 0,
          readAfterDeleteMs: 0,
          writeAfterCreateMs: 0,
          trustVisibleToEksMs: 0,
        },
      });
    });

    const lags = [
      { lag: 'a new role is found late', iam: { readAfterCreateMs: 2_000 } },
      { lag: 'a new role takes policies late', iam: { writeAfterCreateMs: 2_000 } },
      { lag: 'changes are seen late', iam: { readAfterUpdateMs: 2_000 } },
      { lag: 'EKS sees a new role late', iam: { trustVisibleToEksMs: 2_000 } },
      {
        lag: 'everything is late',
        iam: {
          readAfterCreateMs: 1_000,
          readAfterUpdateMs: 1_500,
          readAfterDeleteMs: 1_000,
          writeAfterCreateMs: 1_500,
          trustVisibleToEksMs: 2_500,
        },
      },
    ];
    for (const [index, { lag, iam }] of lags.entries())
      it(`${lag}: a wait without a Warning, a whole role in the end, and nothing left`, async () => {
        const name = `lag-${index}`;
        await world.createEksCluster(name);
        world.aws.admin.setConfig({ iam });
        const calls = callsFromNow(world.aws);
        await start(name, { clusterName: name, additionalTags: { team: 'a' } });
        await ready(name);
        expect(roleOf(`${name}-default_${name}_fargate`)).to.deep.include({ attachedPolicies: [EKS_POLICY] });
        const created = calls.mutations().filter(({ operation, applied }) => applied && operation === 'CreateRole');
        expect(created).to.have.length(1);
        await remove(name);
        expect(world.inAws.role(`${name}-default_${name}_fargate`)).to.equal(undefined);
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      });

    it('a role that was deleted is still shown: an object of the same name gets one all the same', async () => {
      await world.createEksCluster('ghost');
      world.aws.admin.setConfig({ iam: { readAfterDeleteMs: 3_000 } });
      await start('ghost', { clusterName: 'ghost' });
      const [first] = await ready('ghost');
      await remove('ghost');
      await start('ghost', { clusterName: 'ghost' });
      const [second] = await ready('ghost');
      const { id } = roleOf('ghost-default_ghost_fargate');
      expect(second?.status?.['role']).to.deep.include({ id });
      expect(second?.status?.['role']).not.to.deep.equal(first?.status?.['role']);
      expect((await world.events('ghost')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      await remove('ghost');
    });
  });
});
