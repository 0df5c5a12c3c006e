import { DeleteFargateProfileCommand, TagResourceCommand, UntagResourceCommand } from '@aws-sdk/client-eks';
import {
  AttachRolePolicyCommand,
  DeleteRolePermissionsBoundaryCommand,
  DetachRolePolicyCommand,
  TagRoleCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { expect } from 'chai';
import { ADDED_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ProfileView, RoleView } from '../../aws/admin/views.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { eventually } from '../../support/eventually.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { OtherClient } from '../../world/aws/other-client.ts';
import { createOtherClient } from '../../world/aws/other-client.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, clusterPath, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';

const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const READ_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
const SYNC_PERIOD_MS = 500;
const WRITES = ['PATCH', 'POST', 'PUT', 'DELETE'];

describe('drift in AWS', () => {
  let world: World;
  let stranger: OtherClient;
  before(async () => {
    world = await startWorld();
    stranger = createOtherClient(world);
    await world.startManager({ flags: ['--sync-period', `${SYNC_PERIOD_MS}ms`] });
  });
  after(() => world.finish());

  async function readyProfile(name: string, spec: object = {}): Promise<{ profile: ProfileView; role: RoleView }> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
    await world.ready(name);
    return { profile: profileOf(name), role: roleOf(name) };
  }

  function profileOf(name: string): ProfileView {
    const profile = world.awsView.profile(`default_${name}`);
    if (profile === undefined) throw new Error(`there is no Fargate profile default_${name}`);
    return profile;
  }

  function roleOf(name: string): RoleView {
    const role = world.awsView.role(`${name}-default_${name}_fargate`);
    if (role === undefined) throw new Error(`there is no role ${name}-default_${name}_fargate`);
    return role;
  }

  /**
   * Waits until the controller has compared the AWSFargateProfile with AWS the given number of times since this call.
   */
  async function resyncs(name: string, count: number): Promise<void> {
    const calls = callsFromNow(world.aws);
    const reads = (): number =>
      calls.about(`default_${name}`).filter(({ operation }) => operation === 'DescribeFargateProfile').length;
    await eventually(() => reads() >= count, { what: `${count} resyncs of ${name}` });
  }

  describe('of the Fargate profile', () => {
    it('its tags are restored, and the tags of other owners stay', async () => {
      const { profile } = await readyProfile('tags', { additionalTags: { team: 'shop', stage: 'test' } });
      const { eks } = stranger;
      await eks.send(new TagResourceCommand({ resourceArn: profile.arn, tags: { team: 'thieves', extra: 'kept' } }));
      await eks.send(
        new UntagResourceCommand({ resourceArn: profile.arn, tagKeys: ['stage', 'kubernetes.io/cluster/tags'] }),
      );
      await eventually(() => {
        expect(profileOf('tags').tags).to.deep.equal({ ...profile.tags, extra: 'kept' });
      });
      await world.event(
        'tags',
        'Normal UpdatedEKSFargateProfileTags: Updated the tags of EKS fargate profile default_tags',
      );
    });

    it('a profile that another client is deleting is created again, and the condition says so meanwhile', async () => {
      const { profile } = await readyProfile('deleted');
      await stranger.eks.send(
        new DeleteFargateProfileCommand({ clusterName: profile.cluster, fargateProfileName: profile.name }),
      );
      await world.condition('deleted', 'Ready', { status: 'False', reason: 'Creating' });
      const { status } = await world.ready('deleted');
      expect(profileOf('deleted')).to.deep.include({ status: 'ACTIVE', tags: profile.tags });
      expect(status).to.deep.include({ profileARN: profileOf('deleted').arn });
      expect(status?.['profileARN']).not.to.equal(profile.arn);
    });

    it('a profile that vanishes at once is created again', async () => {
      const { profile, role } = await readyProfile('vanished');
      world.aws.admin.removeProfile({ cluster: profile.cluster, name: profile.name });
      await eventually(() => world.awsView.profile(profile.name)?.status === 'ACTIVE');
      await world.ready('vanished');
      expect(roleOf('vanished').id).to.equal(role.id);
    });

    it('a profile that another owner created in its place is left untouched', async () => {
      const { profile, role } = await readyProfile('usurped');
      world.aws.admin.putRole({ name: 'usurper', trustPolicy: role.trustPolicy });
      world.aws.admin.removeProfile({ cluster: profile.cluster, name: profile.name });
      const usurper = world.aws.admin.putProfile({
        cluster: profile.cluster,
        name: profile.name,
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/usurper`,
        tags: { 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'elsewhere/usurped' },
      });
      const object = await world.condition('usurped', 'Stalled', { status: 'True', reason: 'ProfileNotOwned' });
      expect(summaryOf(object)).to.deep.equal(stalled('ProfileNotOwned'));
      expect(messageOf(object, 'Ready')).to.contain('default_usurped').and.to.contain('elsewhere/usurped');
      expect(profileOf('usurped')).to.deep.equal(usurper);
      await world.delete('usurped');
      await world.gone('usurped');
      expect(profileOf('usurped')).to.deep.equal(usurper);
    });
  });

  describe('of the role', () => {
    it('its tags are restored, and the tags of other owners stay', async () => {
      const { role } = await readyProfile('roletags', { additionalTags: { team: 'shop', stage: 'test' } });
      const RoleName = role.name;
      await stranger.iam.send(
        new TagRoleCommand({
          RoleName,
          Tags: [
            { Key: 'team', Value: 'thieves' },
            { Key: 'extra', Value: 'kept' },
          ],
        }),
      );
      await stranger.iam.send(new UntagRoleCommand({ RoleName, TagKeys: ['stage'] }));
      await eventually(() => {
        expect(roleOf('roletags').tags).to.deep.equal({ ...role.tags, extra: 'kept' });
      });
    });

    it('its trust policy is restored', async () => {
      const { role } = await readyProfile('trust');
      const denyingPolicy = {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Deny', Principal: '*', Action: 'sts:AssumeRole' }],
      };
      await stranger.iam.send(
        new UpdateAssumeRolePolicyCommand({ RoleName: role.name, PolicyDocument: JSON.stringify(denyingPolicy) }),
      );
      await eventually(() => {
        expect(JSON.parse(roleOf('trust').trustPolicy)).to.deep.equal(JSON.parse(role.trustPolicy));
      });
      await world.event('trust', `Normal UpdatedIAMRole: Updated the trust policy of fargate IAM role "${role.name}"`);
    });

    it('its policies are attached again, and policies of other owners stay, also after a change of the spec', async () => {
      const own = world.aws.admin.putPolicy({ name: 'own' });
      const { role } = await readyProfile('policies', { roleAdditionalPolicies: [own] });
      const RoleName = role.name;
      await stranger.iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn: READ_POLICY }));
      await stranger.iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: EKS_POLICY }));
      await stranger.iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: own }));
      await eventually(() => {
        expect(roleOf('policies').attachedPolicies).to.have.members([EKS_POLICY, own, READ_POLICY]);
      });
      await world.patch('policies', { spec: { roleAdditionalPolicies: null } });
      await eventually(() => {
        expect(roleOf('policies').attachedPolicies).to.have.members([EKS_POLICY, READ_POLICY]);
      });
    });

    it('its permissions boundary is restored', async () => {
      const boundary = world.aws.admin.putPolicy({ name: 'limits' });
      const { role } = await readyProfile('boundary', { rolePermissionsBoundary: boundary });
      await stranger.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName: role.name }));
      await eventually(() => roleOf('boundary').permissionsBoundary === boundary);
    });

    it('a deleted role is created again with its access entry, so that new pods can join the EKS cluster', async () => {
      const { role, profile } = await readyProfile('rolegone');
      world.aws.admin.removeRole({ name: role.name });
      const canPodsJoin = () => world.aws.admin.canPodsJoin({ cluster: profile.cluster, name: profile.name });
      await eventually(canPodsJoin);
      await eventually(async () => {
        const { status } = await world.ready('rolegone');
        expect(status?.['role']).to.deep.include({ id: roleOf('rolegone').id });
      });
      expect(roleOf('rolegone').id).not.to.equal(role.id);
      expect(roleOf('rolegone')).to.deep.include({ tags: role.tags, attachedPolicies: role.attachedPolicies });
    });

    it('a deleted role is created again where the cluster uses the aws-auth ConfigMap alone', async () => {
      const { name: cluster } = await world.createEksCluster('configmap');
      world.aws.admin.setCluster({ name: cluster, authenticationMode: 'CONFIG_MAP' });
      await world.apply(fargateProfile('configmap', { clusterName: 'configmap' }));
      await world.ready('configmap');
      const { name } = roleOf('configmap');
      world.aws.admin.removeRole({ name });
      await eventually(() => world.awsView.role(name)?.attachedPolicies.includes(EKS_POLICY) ?? false);
      const { id } = roleOf('configmap');
      await eventually(async () => {
        const { status } = await world.ready('configmap');
        expect(status?.['role']).to.deep.include({ id });
      });
      expect(world.aws.admin.canPodsJoin({ cluster, name: 'default_configmap' })).to.equal(true);
    });
  });

  describe('additionalTags', () => {
    it('changes are applied: new tags are set, former tags are removed, tags of other owners stay', async () => {
      const { profile, role } = await readyProfile('retagged', { additionalTags: { old: '1', changed: '1' } });
      const { eks, iam } = stranger;
      await eks.send(new TagResourceCommand({ resourceArn: profile.arn, tags: { theirs: 'x' } }));
      await iam.send(new TagRoleCommand({ RoleName: role.name, Tags: [{ Key: 'theirs', Value: 'x' }] }));
      await world.patch('retagged', { spec: { additionalTags: { old: null, changed: '2', new: '1' } } });

      const withoutRecord = ({ tags: { [ADDED_TAG]: _record, ...tags } }: ProfileView | RoleView) => tags;
      const expected = (before: ProfileView | RoleView) => {
        const { old: _removed, ...tags } = withoutRecord(before);
        return { ...tags, changed: '2', new: '1', theirs: 'x' };
      };
      await eventually(() => {
        expect(withoutRecord(profileOf('retagged'))).to.deep.equal(expected(profile));
        expect(withoutRecord(roleOf('retagged'))).to.deep.equal(expected(role));
      });
    });

    it('a key that is removed from the spec can be set by other clients', async () => {
      const { profile } = await readyProfile('given-up', { additionalTags: { old: 'ours' } });
      await world.patch('given-up', { spec: { additionalTags: null } });
      await eventually(() => profileOf('given-up').tags['old'] === undefined);
      await stranger.eks.send(new TagResourceCommand({ resourceArn: profile.arn, tags: { old: 'theirs' } }));
      await resyncs('given-up', 3);
      expect(profileOf('given-up').tags).to.include({ old: 'theirs' });
    });

    it('changes of the control plane’s tags are applied', async () => {
      await readyProfile('inherited');
      await world.controlPlane.api.patch(controlPlanePath('inherited'), {
        spec: { additionalTags: { bill: 'to us' } },
      });
      await eventually(() => profileOf('inherited').tags['bill'] === 'to us');
      await eventually(() => roleOf('inherited').tags['bill'] === 'to us');
    });
  });

  describe('no drift', () => {
    it('each resync makes three AWS calls for each object, and writes nothing anywhere', async () => {
      const names = ['still-a', 'still-b', 'still-c'];
      await Promise.all(names.map((name) => readyProfile(name)));
      // The controller also resyncs the AWSFargateProfiles of earlier tests. So the test compares only the state of its
      // own three AWSFargateProfiles.
      const state = async (): Promise<unknown> => ({
        objects: await Promise.all(names.map((name) => world.profile(name))),
        clusters: await Promise.all(names.map((name) => world.controlPlane.api.get(clusterPath(name)))),
        controlPlanes: await Promise.all(names.map((name) => world.controlPlane.api.get(controlPlanePath(name)))),
        events: await Promise.all(names.map((name) => world.event(name, 'SuccessfulCreateEKSFargateProfile'))),
        aws: names.map((name) => [profileOf(name), roleOf(name)]),
      });
      const writes = async (): Promise<number> => {
        const counts = await Promise.all(
          WRITES.map((method) => world.manager.metric('rest_client_requests_total', { method })),
        );
        return counts.reduce((sum, count) => sum + count, 0);
      };
      // A watch event of a Cluster or control plane would trigger a reconcile in addition to the resyncs. So the test
      // first waits until the manager has handled all earlier events.
      await waitForCacheSync(world);
      // The controller may still be writing the status of AWSFargateProfiles of earlier tests. So the test waits for
      // two resyncs without a write.
      let writesBefore = -1;
      await eventually(
        async () => {
          writesBefore = await writes();
          await resyncs('still-a', 2);
          return (await writes()) === writesBefore;
        },
        { what: 'a second without a write' },
      );
      const before = await state();
      const calls = callsFromNow(world.aws);
      await Promise.all(names.map((name) => resyncs(name, 5)));

      expect(calls.mutations()).to.deep.equal([]);
      expect(await writes()).to.equal(writesBefore);
      expect(await state()).to.deep.equal(before);
      for (const name of names) {
        const about = [...calls.about(`default_${name}`), ...calls.about(`${name}-default_${name}_fargate`)];
        const operations = about.toSorted((a, b) => a.seq - b.seq).map(({ operation }) => operation);
        // DescribeFargateProfile, then GetRole and ListAttachedRolePolicies in any order. The first and the last resync may
        // be incomplete.
        expect(operations.map((each) => each.charAt(0)).join(''), name).to.match(
          /^[GL]{0,2}(?:D(?:GL|LG)){4,}(?:D[GL]?)?$/,
        );
      }
    });
  });
});
