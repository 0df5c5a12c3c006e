import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  DeleteRolePolicyCommand,
  PutRolePolicyCommand,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { expect } from 'chai';
import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { ADDED_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import type { RoleView } from '../../aws/admin/views.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { CAPA_TRUST, EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { STATIC_IDENTITY, createStaticIdentity } from '../../world/aws/identities.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { eventually } from '../../support/eventually.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { OtherClient } from '../../world/aws/other-client.ts';
import { createOtherClient } from '../../world/aws/other-client.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';
import { HELD_MS, holdChange, operationsOf } from '../../world/aws/operations.ts';

describe('the pod execution role', () => {
  let world: World;
  let stranger: OtherClient;
  before(async () => {
    world = await startWorld();
    stranger = createOtherClient(world);
    await world.startManager();
  });
  after(() => world.finish());

  const applyProfile = (name: string, spec: object): Promise<void> => world.apply(fargateProfile(name, spec));
  const ready = (...names: readonly string[]): Promise<readonly RawObject[]> =>
    Promise.all(names.map((name) => world.ready(name)));

  async function remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
  }

  async function stalledMessage(name: string, reason: string): Promise<string> {
    const object = await world.condition(name, 'Stalled', { status: 'True', reason });
    expect(summaryOf(object).Stalled).to.equal(stalled(reason).Stalled);
    return messageOf(object, 'Stalled');
  }

  function roleOf(name: string): RoleView {
    return world.awsView.role(name) ?? expect.fail(`there is no role ${name}`);
  }

  /**
   * Calls `doIt` when AWS receives the first call of `operation`. AWS executes the call only after `doIt` has finished.
   */
  function onceBefore(operation: string, doIt: (call: CallRecord) => Promise<void>): () => void {
    let isDone = false;
    return world.aws.onCall(async (call, phase) => {
      if (isDone || phase !== 'before' || call.operation !== operation) return;
      isDone = true;
      await doIt(call);
    });
  }

  describe('shared by several AWSFargateProfiles that name it', () => {
    // A failed test may leave the AWS emulator with another duration of deletions. This hook resets it, so that the
    // next tests do not fail too.
    afterEach(() => world.aws.admin.setConfig({ eks: { deleteMs: 300 } }));

    it('is created once for three concurrent objects with the tags of all, and deleted with the last object', async () => {
      const names = ['three-a', 'three-b', 'three-c'];
      await world.createEksCluster('three');
      const calls = callsFromNow(world.aws);
      await Promise.all(
        names.map((name) =>
          applyProfile(name, { clusterName: 'three', roleName: 'three-pods', additionalTags: { [name]: 'yes' } }),
        ),
      );
      await ready(...names);
      expect(calls.about('three-pods').filter(({ operation }) => operation === 'CreateRole')).to.have.length(1);
      expect(roleOf('three-pods').tags).to.include({ 'three-a': 'yes', 'three-b': 'yes', 'three-c': 'yes' });
      expect(roleOf('three-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
      await remove(...names);
      expect(world.awsView.role('three-pods')).to.equal(undefined);
      expect(calls.about('three-pods').filter(({ operation }) => operation === 'DeleteRole')).to.have.length(1);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('is kept for an object that is created while the Fargate profile of another object is being deleted', async () => {
      const spec = { clusterName: 'relay', roleName: 'relay-pods' };
      const { name: cluster } = await world.createEksCluster('relay');
      await applyProfile('relay-first', spec);
      await ready('relay-first');
      const { id } = roleOf('relay-pods');
      // EKS keeps the Fargate profile of the first AWSFargateProfile in status DELETING until the second
      // AWSFargateProfile exists.
      world.aws.admin.setConfig({ eks: { deleteMs: HELD_MS } });
      await world.delete('relay-first');
      await eventually(() => world.awsView.profile('default_relay-first')?.status === 'DELETING');
      world.aws.admin.setConfig({ eks: { deleteMs: 300 } });
      await applyProfile('relay-second', spec);
      await world.condition('relay-second', 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
      world.aws.admin.removeProfile({ cluster, name: 'default_relay-first' });
      await world.gone('relay-first');
      await ready('relay-second');
      expect(roleOf('relay-pods').id).to.equal(id);
      await remove('relay-second');
      expect(world.awsView.role('relay-pods')).to.equal(undefined);
    });

    for (const operation of ['ListAttachedRolePolicies', 'DetachRolePolicy', 'DeleteRole'])
      it(`is complete for an object that is created during the ${operation} of another object`, async () => {
        const cluster = `late-${operation.toLowerCase()}`;
        const [first, second, roleName] = [`${cluster}-first`, `${cluster}-second`, `${cluster}-pods`];
        const spec = { clusterName: cluster, roleName };
        await world.createEksCluster(cluster);
        await applyProfile(first, spec);
        await ready(first);
        const held = holdChange(world.aws, 'Delete', `default_${first}`);
        await world.delete(first);
        const profile = await held;
        const forget = onceBefore(operation, () => applyProfile(second, spec));
        world.aws.admin.removeProfile(profile);
        await world.gone(first);
        forget();
        const [object] = await ready(second);
        const { id, attachedPolicies } = roleOf(roleName);
        expect(object?.status?.['role']).to.deep.include({ name: roleName, id, managed: true });
        expect(attachedPolicies).to.deep.equal([EKS_POLICY]);
        await remove(second);
        expect(world.awsView.role(roleName)).to.equal(undefined);
      });

    it('is deleted when all objects that share it are deleted at once, in any order', async () => {
      const names = ['exit-a', 'exit-b', 'exit-c', 'exit-d'];
      const { name: cluster } = await world.createEksCluster('exit');
      // While a Fargate profile of another owner is CREATING, EKS creates no other Fargate profile in the EKS cluster.
      // So the AWSFargateProfiles of this test have a role, but no Fargate profile whose deletion would take time.
      world.aws.admin.putProfile({
        cluster,
        name: 'theirs',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
        status: 'CREATING',
      });
      for (let round = 0; round < 3; round++) {
        await Promise.all(names.map((name) => applyProfile(name, { clusterName: 'exit', roleName: 'exit-pods' })));
        for (const name of names) {
          await world.condition(name, 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
        }
        expect(roleOf('exit-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
        await remove(...names);
        expect(world.awsView.role('exit-pods'), `round ${round}`).to.equal(undefined);
      }
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
    });

    it('is not kept for an object that waits for credentials of another account, which gets a role there', async () => {
      const account = '210987654321';
      const share = { roleName: 'everywhere' };
      await world.createEksCluster('here');
      await world.createEksCluster('abroad', { account, identityRef: { kind: STATIC_IDENTITY, name: 'abroad' } });
      await applyProfile('ours', { clusterName: 'here', ...share });
      await ready('ours');
      await applyProfile('theirs', { clusterName: 'abroad', ...share });
      const { metadata } = await world.condition('theirs', 'CredentialsReady', {
        status: 'False',
        reason: 'IdentityNotFound',
      });
      expect(metadata.finalizers).to.have.length(1);
      await remove('ours');
      expect(world.awsView.role('everywhere')).to.equal(undefined);

      await createStaticIdentity(world, 'abroad', account);
      await ready('theirs');
      expect(roleOf('everywhere').account).to.equal(account);
      await remove('theirs');
    });

    it('with different settings: the younger object reports the conflict and continues when its settings agree', async () => {
      const [mine, theirs] = ['boundary-mine', 'boundary-theirs'].map((name) => world.aws.admin.putPolicy({ name }));
      const spec = { clusterName: 'quarrel', roleName: 'quarrel-pods' };
      await world.createEksCluster('quarrel');
      await applyProfile('quarrel-older', {
        ...spec,
        rolePermissionsBoundary: mine,
        additionalTags: { owner: 'older' },
      });
      await ready('quarrel-older');
      const before = roleOf('quarrel-pods');
      const calls = callsFromNow(world.aws);
      await applyProfile('quarrel-younger', {
        ...spec,
        rolePath: '/teams/',
        rolePermissionsBoundary: theirs,
        roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
        additionalTags: { owner: 'younger', own: 'fine' },
      });
      expect(await stalledMessage('quarrel-younger', 'RoleSettingsConflict')).to.equal(
        'IAM role "quarrel-pods" is also used by AWSFargateProfile default/quarrel-older, and this object has other ' +
          'values in spec.rolePath, spec.rolePermissionsBoundary, spec.roleAdditionalPolicies, ' +
          'spec.additionalTags["owner"]. Set the same values in both objects, or give this object another role with ' +
          'spec.roleName. Until then the controller changes nothing in AWS for this object.',
      );
      await world.event('quarrel-younger', 'Warning RoleSettingsConflict');
      expect(operationsOf(calls)).to.deep.equal([]);
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
      const { [ADDED_TAG]: record } = roleOf('quarrel-pods').tags;
      expect(roleOf('quarrel-pods')).to.deep.equal({
        ...before,
        tags: { ...before.tags, own: 'fine', [ADDED_TAG]: record },
      });
      await remove('quarrel-younger', 'quarrel-older');
      expect(world.awsView.role('quarrel-pods')).to.equal(undefined);
    });

    it('with different settings: the younger object continues at once when the older agrees with it', async () => {
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      const spec = { clusterName: 'yield', roleName: 'yield-pods' };
      await world.createEksCluster('yield');
      await applyProfile('yield-older', spec);
      await ready('yield-older');
      await applyProfile('yield-younger', { ...spec, roleAdditionalPolicies: [policy] });
      await stalledMessage('yield-younger', 'RoleSettingsConflict');
      await world.patch('yield-older', { spec: { roleAdditionalPolicies: [policy] } });
      await ready('yield-younger', 'yield-older');
      expect(roleOf('yield-pods').attachedPolicies).to.have.members([EKS_POLICY, policy]);
      await remove('yield-younger', 'yield-older');
    });

    it('with different settings: the younger object applies its settings as soon as the older is deleted', async () => {
      const boundary = world.aws.admin.putPolicy({ name: 'boundary-heir' });
      const spec = { clusterName: 'heir', roleName: 'heir-pods' };
      await world.createEksCluster('heir');
      await applyProfile('heir-older', spec);
      await ready('heir-older');
      await applyProfile('heir-younger', { ...spec, rolePermissionsBoundary: boundary });
      await stalledMessage('heir-younger', 'RoleSettingsConflict');
      await remove('heir-older');
      await ready('heir-younger');
      expect(roleOf('heir-pods').permissionsBoundary).to.equal(boundary);
      await remove('heir-younger');
    });
  });

  describe('a role of another owner', () => {
    for (const [how, spec] of [
      ['its name', { roleName: 'platform-pods' }],
      ['its ARN', { roleARN: `arn:aws:iam::${ACCOUNT}:role/platform-pods` }],
    ] as const)
      it(`that ${how} names is not created again after its deletion, and its successor needs a new access entry`, async () => {
        const name = `platform-${how.at(-1)?.toLowerCase()}`;
        const putRole = () => world.aws.admin.putRole({ name: 'platform-pods', trustPolicy: CAPA_TRUST });
        await world.createEksCluster(name);
        putRole();
        await applyProfile(name, { clusterName: name, ...spec });
        await ready(name);
        world.aws.admin.removeRole({ name: 'platform-pods' });
        const calls = callsFromNow(world.aws);
        await triggerReconcile(world, name);
        expect(await stalledMessage(name, 'RoleNotFound')).to.contain(
          'IAM role "platform-pods", which the spec names, does not exist',
        );
        await world.event(name, 'Warning RoleNotFound');
        expect(operationsOf(calls)).to.deep.equal([]);
        expect(world.awsView.profile(`default_${name}`)?.status, 'running pods are not affected').to.equal('ACTIVE');
        const { arn, id } = putRole();
        await triggerReconcile(world, name);
        expect(await stalledMessage(name, 'RoleRecreated')).to.contain(
          `delete the access entry of ${arn} and create it`,
        );
        await world.patch(name, { metadata: { annotations: { [ACCESS_ENTRY_RENEWED_ANNOTATION]: id } } });
        await ready(name);
        await remove(name);
        expect(operationsOf(calls)).to.deep.equal(['DeleteFargateProfile']);
        world.aws.admin.removeRole({ name: 'platform-pods' });
      });

    it('a role of this controller is kept while a profile of another owner uses it', async () => {
      const { name: cluster } = await world.createEksCluster('borrowed');
      await applyProfile('lender', { clusterName: 'borrowed', roleName: 'borrowed-pods' });
      await ready('lender');
      const role = roleOf('borrowed-pods');
      world.aws.admin.putProfile({ cluster, name: 'theirs', podExecutionRoleArn: role.arn });
      const calls = callsFromNow(world.aws);
      await remove('lender');
      expect(operationsOf(calls)).to.deep.equal(['DeleteFargateProfile']);
      expect(roleOf('borrowed-pods')).to.deep.equal(role);
      // The controller has kept the role, because the Fargate profile of another owner uses it. A new AWSFargateProfile
      // names the role, so that the controller manages the role again and deletes it in the end.
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
      await applyProfile('lender', { clusterName: 'borrowed', roleName: 'borrowed-pods' });
      await ready('lender');
      await remove('lender');
      expect(world.awsView.role('borrowed-pods')).to.equal(undefined);
    });
  });

  it('a role with a foreign inline policy and instance profile is not deleted until both are removed; the condition names them', async () => {
    const RoleName = 'blocked-default_blocked_fargate';
    const [PolicyName, InstanceProfileName, PolicyDocument] = ['by-hand', 'nodes', CAPA_TRUST];
    const { iam } = stranger;
    await world.createEksCluster('blocked');
    await applyProfile('blocked', { clusterName: 'blocked' });
    await ready('blocked');
    await iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument }));
    await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName }));
    await iam.send(new AddRoleToInstanceProfileCommand({ RoleName, InstanceProfileName }));
    const before = roleOf(RoleName);
    const calls = callsFromNow(world.aws);
    await world.delete('blocked');
    expect(await stalledMessage('blocked', 'RoleBlocked')).to.equal(
      `The controller cannot delete IAM role "${RoleName}", because it still has the inline policy "by-hand", the instance ` +
        'profile "nodes". Remove the inline policy "by-hand", the instance profile "nodes" from the role. The controller ' +
        'then deletes the role on its own.',
    );
    expect(operationsOf(calls)).to.deep.equal(['DeleteFargateProfile']);
    expect(roleOf(RoleName)).to.deep.equal(before);
    await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    await triggerReconcile(world, 'blocked');
    await eventually(async () => {
      const object = (await world.profile('blocked')) ?? expect.fail('the object is gone');
      expect(messageOf(object, 'Stalled')).to.contain('because it still has the instance profile "nodes". ');
    });
    await iam.send(new RemoveRoleFromInstanceProfileCommand({ RoleName, InstanceProfileName }));
    await iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
    await triggerReconcile(world, 'blocked');
    await world.gone('blocked');
    expect(operationsOf(calls)).to.deep.equal([
      'DeleteFargateProfile',
      'DetachRolePolicy',
      'DeleteAccessEntry',
      'DeleteRole',
    ]);
    expect(calls.failures()).to.deep.equal([]);
  });

  describe('while IAM is eventually consistent', () => {
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
      it(`${lag}: the object waits without a Warning, the role becomes complete, and nothing is left behind`, async () => {
        const name = `lag-${index}`;
        await world.createEksCluster(name);
        world.aws.admin.setConfig({ iam });
        const calls = callsFromNow(world.aws);
        await applyProfile(name, { clusterName: name, additionalTags: { team: 'a' } });
        await ready(name);
        expect(roleOf(`${name}-default_${name}_fargate`)).to.deep.include({ attachedPolicies: [EKS_POLICY] });
        const created = calls.mutations().filter(({ operation, applied }) => applied && operation === 'CreateRole');
        expect(created).to.have.length(1);
        await remove(name);
        expect(world.awsView.role(`${name}-default_${name}_fargate`)).to.equal(undefined);
        expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      });

    it('a deleted role is still listed: an object of the same name gets a new role', async () => {
      await world.createEksCluster('ghost');
      world.aws.admin.setConfig({ iam: { readAfterDeleteMs: 3_000 } });
      await applyProfile('ghost', { clusterName: 'ghost' });
      const [first] = await ready('ghost');
      await remove('ghost');
      await applyProfile('ghost', { clusterName: 'ghost' });
      const [second] = await ready('ghost');
      const { id } = roleOf('ghost-default_ghost_fargate');
      expect(second?.status?.['role']).to.deep.include({ id });
      expect(second?.status?.['role']).not.to.deep.equal(first?.status?.['role']);
      expect((await world.events('ghost')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
      await remove('ghost');
    });
  });
});
