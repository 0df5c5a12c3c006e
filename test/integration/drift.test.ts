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
import type { ProfileView, RoleView } from '../aws/views.ts';
import { callsFromNow } from '../world/calls.ts';
import { caughtUp } from '../world/caught-up.ts';
import { comparisonsIn } from '../world/comparisons.ts';
import { eventually } from '../support/eventually.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { Stranger } from '../world/stranger.ts';
import { strangerIn } from '../world/stranger.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, clusterPath, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const READ_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
const SYNC_PERIOD_MS = 500;
const WRITES = ['PATCH', 'POST', 'PUT', 'DELETE'];

describe('drift: what others change in AWS', () => {
  let world: World;
  let stranger: Stranger;
  before(async () => {
    world = await startWorld();
    stranger = strangerIn(world);
    await world.startManager({ flags: ['--sync-period', `${SYNC_PERIOD_MS}ms`] });
  });
  after(async () => {
    stranger.close();
    await world.finish();
  });

  /** A profile on a cluster of its own, Ready. */
  async function settled(name: string, spec: object = {}): Promise<{ profile: ProfileView; role: RoleView }> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
    await world.ready(name);
    return { profile: profileOf(name), role: roleOf(name) };
  }

  function profileOf(name: string): ProfileView {
    const profile = world.inAws.profile(`default_${name}`);
    if (profile === undefined) throw new Error(`there is no Fargate profile default_${name}`);
    return profile;
  }

  function roleOf(name: string): RoleView {
    const role = world.inAws.role(`${name}-default_${name}_fargate`);
    if (role === undefined) throw new Error(`there is no role ${name}-default_${name}_fargate`);
    return role;
  }

  /** Waits until an object has been compared with AWS so many times more. */
  async function resyncs(name: string, count: number): Promise<void> {
    const calls = callsFromNow(world.aws);
    const reads = (): number =>
      calls.about(`default_${name}`).filter(({ operation }) => operation === 'DescribeFargateProfile').length;
    await eventually(() => reads() >= count, { what: `${count} resyncs of ${name}`, timeoutMs: 15_000 });
  }

  describe('of the profile', () => {
    it('mends tags of its own that were changed or taken away, and keeps those of others', async () => {
      const { profile } = await settled('tags', { additionalTags: { team: 'shop', stage: 'test' } });
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

    it('makes it anew when somebody deleted it, and says while it does', async () => {
      const { profile } = await settled('deleted');
      await stranger.eks.send(
        new DeleteFargateProfileCommand({ clusterName: profile.cluster, fargateProfileName: profile.name }),
      );
      await world.condition('deleted', 'Ready', { status: 'False', reason: 'Creating' });
      const { status } = await world.ready('deleted');
      expect(profileOf('deleted')).to.deep.include({ status: 'ACTIVE', tags: profile.tags });
      expect(status).to.deep.include({ profileARN: profileOf('deleted').arn });
      expect(status?.['profileARN']).not.to.equal(profile.arn);
    });

    it('makes it anew when it vanished at once', async () => {
      const { profile, role } = await settled('vanished');
      world.aws.admin.removeProfile({ cluster: profile.cluster, name: profile.name });
      await eventually(() => world.inAws.profile(profile.name)?.status === 'ACTIVE');
      await world.ready('vanished');
      expect(roleOf('vanished').id).to.equal(role.id);
    });

    it('leaves alone one that somebody else made in its place', async () => {
      const { profile, role } = await settled('usurped');
      world.aws.admin.putRole({ name: 'usurper', trustPolicy: role.trustPolicy });
      world.aws.admin.removeProfile({ cluster: profile.cluster, name: profile.name });
      const usurper = world.aws.admin.putProfile({
        cluster: profile.cluster,
        name: profile.name,
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/usurper`,
        tags: { 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'elsewhere/usurped' },
      });
      const object = await world.condition('usurped', 'Stalled', { status: 'True', reason: 'ProfileNotOwned' });
      expect(standing(object)).to.deep.equal(stalled('ProfileNotOwned'));
      expect(messageOf(object, 'Ready')).to.contain('default_usurped').and.to.contain('elsewhere/usurped');
      expect(profileOf('usurped')).to.deep.equal(usurper);
      await world.delete('usurped');
      await world.gone('usurped');
      expect(profileOf('usurped')).to.deep.equal(usurper);
    });
  });

  describe('of the role', () => {
    it('mends tags of its own that were changed or taken away, and keeps those of others', async () => {
      const { role } = await settled('roletags', { additionalTags: { team: 'shop', stage: 'test' } });
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

    it('restores the trust policy', async () => {
      const { role } = await settled('trust');
      const nobody = {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Deny', Principal: '*', Action: 'sts:AssumeRole' }],
      };
      await stranger.iam.send(
        new UpdateAssumeRolePolicyCommand({ RoleName: role.name, PolicyDocument: JSON.stringify(nobody) }),
      );
      await eventually(() => {
        expect(JSON.parse(roleOf('trust').trustPolicy)).to.deep.equal(JSON.parse(role.trustPolicy));
      });
      await world.event('trust', `Normal UpdatedIAMRole: Updated the trust policy of fargate IAM role "${role.name}"`);
    });

    it('attaches its policies again, and keeps what others attached, through a change of its own too', async () => {
      const own = world.aws.admin.putPolicy({ name: 'own' });
      const { role } = await settled('policies', { roleAdditionalPolicies: [own] });
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

    it('puts its permissions boundary back', async () => {
      const boundary = world.aws.admin.putPolicy({ name: 'limits' });
      const { role } = await settled('boundary', { rolePermissionsBoundary: boundary });
      await stranger.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName: role.name }));
      await eventually(() => roleOf('boundary').permissionsBoundary === boundary);
    });

    it('makes it anew when somebody deleted it, says that the access entry does not follow, and until when', async () => {
      const { role } = await settled('rolegone');
      world.aws.admin.removeRole({ name: role.name });
      const object = await world.condition('rolegone', 'Stalled', { status: 'True', reason: 'RoleRecreated' });
      const { id } = roleOf('rolegone');
      expect(id).not.to.equal(role.id);
      expect(roleOf('rolegone')).to.deep.include({ tags: role.tags, attachedPolicies: role.attachedPolicies });
      expect(standing(object)).to.deep.equal(stalled('RoleRecreated'));
      expect(messageOf(object, 'IAMFargateRolesReady')).to.contain(role.name).and.to.contain(id);

      const renewed = { 'aws-fargate.cluster.x-k8s.io/access-entry-renewed': id };
      await world.patch('rolegone', { metadata: { annotations: renewed } });
      const { status } = await world.ready('rolegone');
      expect(status?.['role']).to.deep.include({ id });
    });

    it('makes it anew without a word where the cluster knows roles by the aws-auth ConfigMap alone', async () => {
      const { role, profile } = await settled('configmap');
      world.aws.admin.setCluster({ name: profile.cluster, authenticationMode: 'CONFIG_MAP' });
      world.aws.admin.removeRole({ name: role.name });
      await eventually(() => world.inAws.role(role.name)?.attachedPolicies.includes(EKS_POLICY) ?? false);
      const { id } = roleOf('configmap');
      await eventually(async () => {
        const { status } = await world.ready('configmap');
        expect(status?.['role']).to.deep.include({ id });
      });
    });
  });

  describe('additionalTags', () => {
    it('can change at any time: new ones are set, our former ones go, those of others stay', async () => {
      const { profile, role } = await settled('retagged', { additionalTags: { old: '1', changed: '1' } });
      const { eks, iam } = stranger;
      await eks.send(new TagResourceCommand({ resourceArn: profile.arn, tags: { theirs: 'x' } }));
      await iam.send(new TagRoleCommand({ RoleName: role.name, Tags: [{ Key: 'theirs', Value: 'x' }] }));
      await world.patch('retagged', { spec: { additionalTags: { old: null, changed: '2', new: '1' } } });

      const expected = ({ tags }: ProfileView | RoleView) => ({
        ...Object.fromEntries(Object.entries(tags).filter(([key]) => key !== 'old')),
        changed: '2',
        new: '1',
        theirs: 'x',
      });
      await eventually(() => {
        expect(profileOf('retagged').tags).to.deep.equal(expected(profile));
        expect(roleOf('retagged').tags).to.deep.equal(expected(role));
      });
    });

    it('a key that was given up is anybody’s', async () => {
      const { profile } = await settled('given-up', { additionalTags: { old: 'ours' } });
      await world.patch('given-up', { spec: { additionalTags: null } });
      await eventually(() => profileOf('given-up').tags['old'] === undefined);
      await stranger.eks.send(new TagResourceCommand({ resourceArn: profile.arn, tags: { old: 'theirs' } }));
      await resyncs('given-up', 3);
      expect(profileOf('given-up').tags).to.include({ old: 'theirs' });
    });

    it('takes over those of the control plane when they change', async () => {
      await settled('inherited');
      await world.controlPlane.api.patch(controlPlanePath('inherited'), {
        spec: { additionalTags: { bill: 'to us' } },
      });
      await eventually(() => profileOf('inherited').tags['bill'] === 'to us');
      await eventually(() => roleOf('inherited').tags['bill'] === 'to us');
    });
  });

  describe('where there is none', () => {
    it('asks AWS three questions an object and resync, and writes nothing anywhere', async () => {
      const names = ['still-a', 'still-b', 'still-c'];
      await Promise.all(names.map((name) => settled(name)));
      // What former tests left behind has its resyncs too: only these three, and only what is theirs, are looked at here.
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
      // News of Clusters and control planes would be one more look.
      await caughtUp(world);
      // Their last words, of what the tests before saw in AWS already, may still be under way.
      let writesBefore = -1;
      await eventually(
        async () => {
          writesBefore = await writes();
          await resyncs('still-a', 2);
          return (await writes()) === writesBefore;
        },
        { what: 'a second without a write', timeoutMs: 30_000 },
      );
      const before = await state();
      const calls = callsFromNow(world.aws);
      await Promise.all(names.map((name) => resyncs(name, 5)));

      expect(calls.mutations()).to.deep.equal([]);
      expect(await writes()).to.equal(writesBefore);
      expect(await state()).to.deep.equal(before);
      for (const name of names) {
        const about = [...calls.about(`default_${name}`), ...calls.about(`${name}-default_${name}_fargate`)];
        expect(comparisonsIn(about, SYNC_PERIOD_MS), name).to.have.length.of.at.least(4);
      }
    });
  });
});
