import { expect } from 'chai';
import type { RoleView } from '../../aws/admin/views.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { eventually } from '../../support/eventually.ts';
import {
  CAPA_SHARED_ROLE,
  CAPA_TRUST,
  EKS_POLICY,
  FINALIZER,
  applyCapaProfile,
  capaTags,
  createCapaResources,
} from '../../world/aws/capa-resources.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
const NAMESPACE_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
const CLUSTER_ARN = `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_prod-control-plane`;

describe('ownership of Fargate profiles and roles', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
    await world.createEksCluster('prod');
  });
  after(() => world.finish());

  const applyProfile = (name: string, spec: object = {}): Promise<void> => world.apply(fargateProfile(name, spec));

  async function stalledMessage(name: string, reason: string): Promise<string> {
    const object = await world.condition(name, 'Stalled', { status: 'True', reason });
    expect(summaryOf(object)).to.deep.equal(stalled(reason));
    return messageOf(object, 'Ready');
  }

  async function remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
  }

  const inProd = 'default_prod-control-plane';
  const platformRole = (): RoleView =>
    world.awsView.role('everybodys') ?? world.aws.admin.putRole({ name: 'everybodys', trustPolicy: CAPA_TRUST });

  describe('a Fargate profile and a role of this controller whose tags are removed', () => {
    const own = (name: string) => ({ profile: `default_${name}`, role: `prod-default_${name}_fargate` });
    const setTags = (name: string, tags: Readonly<Record<string, string>>): void =>
      world.aws.admin.setProfile({ cluster: inProd, name: own(name).profile, tags });

    it('keep a Ready object Ready, and are corrected again once the tag is restored', async () => {
      await applyProfile('untagged');
      await world.ready('untagged');
      setTags('untagged', {});
      const calls = callsFromNow(world.aws);
      await world.patch('untagged', { spec: { additionalTags: { team: 'shop' } } });
      const object = await world.condition('untagged', 'Stalled', { status: 'True', reason: 'OwnershipTagMissing' });
      expect(messageOf(object, 'Stalled')).to.equal(
        `Fargate profile "default_untagged" lacks the tag ${OWNER_TAG}, so the controller does not change or delete it. ` +
          `If the Fargate profile belongs to this object, tag it with ${OWNER_TAG}=default/untagged. The controller then continues on its own. ` +
          'If the Fargate profile belongs to another owner, do not tag it: the controller then changes nothing in AWS for this object.',
      );
      expect(operationsOf(calls)).to.deep.equal([]);
      setTags('untagged', { [OWNER_TAG]: 'default/untagged' });
      await triggerReconcile(world, 'untagged');
      await eventually(() => world.awsView.profile('default_untagged')?.tags['team'] === 'shop');
      await world.ready('untagged');
      await remove('untagged');
    });

    it('are not forgotten by a deletion, nor after the loss of status', async () => {
      await applyProfile('stripped');
      await world.ready('stripped');
      await world.stopManager();
      setTags('stripped', {});
      await world.controlPlane.api.patch(
        '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles/stripped/status',
        { status: null },
      );
      await world.delete('stripped');
      const calls = callsFromNow(world.aws);
      await world.startManager();
      await world.condition('stripped', 'Stalled', { status: 'True', reason: 'OwnershipTagMissing' });
      expect((await world.profile('stripped'))?.metadata.finalizers).to.deep.equal([FINALIZER]);
      expect(operationsOf(calls)).to.deep.equal([]);

      setTags('stripped', { [OWNER_TAG]: 'default/stripped' });
      await triggerReconcile(world, 'stripped');
      await world.gone('stripped');
      expect(world.awsView.profile(own('stripped').profile)).to.equal(undefined);
      expect(world.awsView.role(own('stripped').role)).to.equal(undefined);
    });
  });

  describe('a Fargate profile of the wanted name with another owner', () => {
    const FREE =
      'Or wait: as soon as the existing profile no longer exists, this controller creates its own profile with this name';
    const adoptable = (policy: string): string =>
      `Or set spec.adoptionPolicy to ${policy}: then this controller adopts the profile`;
    const cases: readonly {
      owner: string;
      tags: Readonly<Record<string, string>>;
      spec?: object;
      words: string;
      way?: string;
    }[] = [
      {
        owner: 'without an owner tag',
        tags: {},
        words: 'an unknown owner (no tag names the owner)',
        way: adoptable('Always'),
      },
      {
        owner: 'of another AWSFargateProfile',
        tags: { [OWNER_TAG]: 'shop/web', ...capaTags('prod') },
        words: 'AWSFargateProfile shop/web',
      },
      {
        owner: 'of another Cluster',
        tags: capaTags('staging'),
        words: 'cluster staging (tag kubernetes.io/cluster/staging=owned), but not to this object',
      },
      {
        owner: 'tagged as shared with the cluster',
        tags: { 'kubernetes.io/cluster/prod': 'shared' },
        words: 'an unknown owner (no tag names the owner)',
        way: adoptable('Always'),
      },
      {
        owner: 'of another AWSFargateProfile, with adoptionPolicy Always',
        tags: { [OWNER_TAG]: 'shop/web' },
        spec: { adoptionPolicy: 'Always' },
        words: 'AWSFargateProfile shop/web',
      },
      {
        owner: 'of Cluster API Provider AWS, with adoptionPolicy Never',
        tags: capaTags('prod'),
        spec: { adoptionPolicy: 'Never' },
        words: 'Cluster API Provider AWS, and spec.adoptionPolicy Never forbids its adoption',
        way: adoptable('Owned'),
      },
    ];
    for (const [index, { owner, tags, spec, words, way = FREE }] of cases.entries())
      it(`is left untouched, and the condition names its owner: ${owner}`, async () => {
        const name = `foreign-${index}`;
        const before = world.aws.admin.putProfile({
          cluster: inProd,
          name: `default_${name}`,
          podExecutionRoleArn: platformRole().arn,
          tags,
        });
        const calls = callsFromNow(world.aws);
        await applyProfile(name, spec);
        expect(await stalledMessage(name, 'ProfileNotOwned')).to.equal(
          `Fargate profile "default_${name}" belongs to ${words}. This controller does not change or delete it. ` +
            `Set spec.profileName to another name. ${way}.`,
        );
        await world.event(name, `Warning ProfileNotOwned: Fargate profile "default_${name}" belongs to`);
        await remove(name);
        expect(operationsOf(calls)).to.deep.equal([]);
        expect(world.awsView.profile(`default_${name}`)).to.deep.equal(before);
        world.aws.admin.removeProfile({ cluster: inProd, name: `default_${name}` });
      });

    it('is replaced by a profile of this controller once it is deleted', async () => {
      world.aws.admin.putProfile({
        cluster: inProd,
        name: 'default_freed',
        podExecutionRoleArn: platformRole().arn,
      });
      await applyProfile('freed');
      await stalledMessage('freed', 'ProfileNotOwned');
      expect(world.awsView.role('prod-default_freed_fargate'), 'a role is created only with its profile').to.equal(
        undefined,
      );
      world.aws.admin.removeProfile({ cluster: inProd, name: 'default_freed' });
      await triggerReconcile(world, 'freed');
      await world.ready('freed');
      await remove('freed');
    });
  });

  describe('a role of the computed name with another owner', () => {
    const elsewhere = `arn:aws:eks:eu-west-1:${ACCOUNT}:cluster/default_prod-control-plane`;
    const cases: readonly { owner: string; tags: Readonly<Record<string, string>>; words: string }[] = [
      { owner: 'without an owner tag', tags: {}, words: 'an unknown owner (no tag names the owner)' },
      {
        owner: 'of a cluster of the same name in another region',
        tags: { [EKS_CLUSTER_TAG]: elsewhere, ...capaTags('prod') },
        words: `the profiles of EKS cluster ${elsewhere}`,
      },
      {
        owner: 'of another namespace with the same EKS cluster',
        tags: { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'team-b', ...capaTags('prod') },
        words: 'the AWSFargateProfiles of namespace team-b',
      },
      {
        owner: 'of another Cluster, with the tag in another case',
        tags: { 'Kubernetes.io/Cluster/staging': 'owned' },
        words: 'cluster staging (tag kubernetes.io/cluster/staging=owned), but not to this object',
      },
    ];
    for (const [index, { owner, tags, words }] of cases.entries())
      it(`is left untouched, the condition names its owner, and no profile is created: ${owner}`, async () => {
        const name = `roleless-${index}`;
        const roleName = `prod-default_${name}_fargate`;
        const before = world.aws.admin.putRole({ name: roleName, trustPolicy: CAPA_TRUST, tags });
        const calls = callsFromNow(world.aws);
        await applyProfile(name);
        expect(await stalledMessage(name, 'RoleNotOwned')).to.equal(
          `IAM role "${roleName}" belongs to ${words}. This controller does not change or delete it. ` +
            'To run the pods with this role as it is, set spec.roleARN to the ARN of the role. ' +
            'To let the controller create a role with another name, set spec.roleName. ' +
            'Or wait: as soon as the existing role no longer exists, the controller creates its own role with this name.',
        );
        await world.condition(name, 'IAMFargateRolesReady', { status: 'False', reason: 'RoleNotOwned' });
        await remove(name);
        expect(operationsOf(calls)).to.deep.equal([]);
        expect(world.awsView.role(roleName)).to.deep.equal(before);
      });

    it('is used unchanged once spec.roleARN names it', async () => {
      const before = world.aws.admin.putRole({ name: 'prod-default_mended_fargate', trustPolicy: CAPA_TRUST });
      const calls = callsFromNow(world.aws);
      await applyProfile('mended');
      await stalledMessage('mended', 'RoleNotOwned');
      await world.patch('mended', { spec: { roleARN: before.arn } });
      await world.ready('mended');
      await remove('mended');
      expect(operationsOf(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile']);
      expect(world.awsView.role('prod-default_mended_fargate')).to.deep.equal(before);
    });
  });

  describe('two AWSFargateProfiles with the same profileName', () => {
    it('the second object reports the owner and creates the profile as soon as the name is free', async () => {
      const calls = callsFromNow(world.aws);
      await applyProfile('winner', { profileName: 'contested' });
      await world.ready('winner');
      await applyProfile('loser', { profileName: 'contested' });
      expect(await stalledMessage('loser', 'ProfileNotOwned')).to.contain(
        'Fargate profile "contested" belongs to AWSFargateProfile default/winner.',
      );
      const { arn } = world.awsView.profile('contested') ?? {};
      await world.delete('winner');
      await world.gone('winner');
      await world.ready('loser');
      const profile = world.awsView.profile('contested');
      expect(profile?.tags[OWNER_TAG]).to.equal('default/loser');
      expect(profile?.arn, 'a new profile').not.to.equal(arn);
      await remove('loser');
      expect(operationsOf(calls).filter((operation) => operation.endsWith('FargateProfile'))).to.deep.equal([
        'CreateFargateProfile',
        'DeleteFargateProfile',
        'CreateFargateProfile',
        'DeleteFargateProfile',
      ]);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('one of two concurrent objects gets the profile, and the deletion of the other object deletes nothing of it', async () => {
      const calls = callsFromNow(world.aws);
      await Promise.all([
        applyProfile('heads', { profileName: 'coin', roleName: 'coin-heads' }),
        applyProfile('tails', { profileName: 'coin', roleName: 'coin-tails' }),
      ]);
      const [winner, loser] = await eventually(async () => {
        const ready = await Promise.all(
          ['heads', 'tails'].map(async (name) => {
            const object = await world.profile(name);
            return object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
          }),
        );
        if (ready[0] === true) return ['heads', 'tails'] as const;
        return ready[1] === true ? (['tails', 'heads'] as const) : false;
      });
      await stalledMessage(loser, 'ProfileNotOwned');
      const before = world.awsView.profile('coin');
      expect(before?.tags[OWNER_TAG]).to.equal(`default/${winner}`);
      await remove(loser);
      expect(world.awsView.profile('coin')).to.deep.equal(before);
      expect(world.awsView.role(`coin-${loser}`), 'the role that the loser created').to.equal(undefined);
      await remove(winner);
      expect(operationsOf(calls).filter((operation) => operation === 'DeleteFargateProfile')).to.have.length(1);
    });
  });

  describe('adoptionPolicy Always', () => {
    it('tags a matching profile without owner, and deletes it with the object', async () => {
      const role = platformRole();
      const { arn } = world.aws.admin.putProfile({
        cluster: inProd,
        name: 'handmade',
        podExecutionRoleArn: role.arn,
        selectors: [{ namespace: 'default', labels: {} }],
        tags: { costs: 'shop' },
      });
      const calls = callsFromNow(world.aws);
      await applyProfile('adopter', { profileName: 'handmade', roleARN: role.arn, adoptionPolicy: 'Always' });
      const { status } = await world.ready('adopter');
      expect(status).to.deep.include({ profileARN: arn });
      expect(operationsOf(calls)).to.deep.equal(['TagResource']);
      expect(world.awsView.profile('handmade')?.tags).to.deep.equal({
        costs: 'shop',
        [OWNER_TAG]: 'default/adopter',
        ...capaTags('prod'),
      });
      await remove('adopter');
      expect(operationsOf(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
      expect(world.awsView.profile('handmade')).to.equal(undefined);
      expect(world.awsView.role('everybodys')).to.deep.equal(role);
    });

    it('leaves a differing profile untouched and reports the differences', async () => {
      const role = platformRole();
      const before = world.aws.admin.putProfile({
        cluster: inProd,
        name: 'handmade-otherwise',
        podExecutionRoleArn: role.arn,
        selectors: [{ namespace: 'kube-system', labels: {} }],
      });
      const calls = callsFromNow(world.aws);
      const spec = { profileName: 'handmade-otherwise', roleARN: role.arn, adoptionPolicy: 'Always' };
      await applyProfile('chooser', spec);
      const message = await stalledMessage('chooser', 'ProfileNotOwned');
      expect(message).to.contain('selectors are "namespace kube-system" in AWS, but "namespace default" in the spec');
      await remove('chooser');
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(world.awsView.profile('handmade-otherwise')).to.deep.equal(before);
    });
  });

  describe('a Fargate profile that Cluster API Provider AWS created', () => {
    const generations = [
      { generation: 'of today', roleName: (name: string) => `prod-default_${name}_fargate` },
      { generation: 'before v2.7.0', roleName: (name: string) => `default_prod-control-plane-default_${name}_fargate` },
    ];
    for (const [index, { generation, roleName }] of generations.entries())
      for (const filled of [true, false])
        it(`is adopted with the role name ${generation}, ${filled ? 'filled into' : 'absent from'} the spec`, async () => {
          const name = `left-${index}-${filled ? 'filled' : 'absent'}`;
          const { profile, role } = createCapaResources(world, 'prod', name, roleName(name));
          const calls = callsFromNow(world.aws);
          await applyCapaProfile(world, 'prod', name, filled ? { roleName: role.name } : {});
          await eventually(async () => {
            const { status } = (await world.profile(name)) ?? {};
            expect(status?.['initialization']).to.deep.equal({ provisioned: true });
            return true;
          });
          // The controller adds its tags to the role and to the Fargate profile. It also adds the confused-deputy
          // condition to the trust policy of the role, because Cluster API Provider AWS creates trust policies without
          // this condition.
          expect(operationsOf(calls)).to.deep.equal(['TagResource', 'TagRole', 'UpdateAssumeRolePolicy']);
          const found = world.awsView.profile(profile.name);
          expect(found).to.deep.equal({
            ...profile,
            tags: { ...profile.tags, [OWNER_TAG]: `default/${name}` },
          });
          const { trustPolicy, tags, ...rest } = world.awsView.role(role.name) ?? expect.fail('the role is gone');
          const { trustPolicy: _trust, tags: _tags, ...before } = role;
          expect(rest).to.deep.equal(before);
          expect(tags).to.deep.equal({ ...role.tags, [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'default' });
          expect(trustPolicy).to.contain(`arn:aws:eks:us-east-1:${ACCOUNT}:fargateprofile/${inProd}/*`);

          const object = await world.ready(name);
          expect(object.metadata.finalizers).to.deep.equal([FINALIZER]);
          expect(object.status).not.to.have.property('failureReason');
          expect(object.status?.conditions?.map(({ type }) => type)).not.to.include('EKSFargateCreating');
          await remove(name);
          expect(world.awsView.profile(profile.name)).to.equal(undefined);
          expect(world.awsView.role(role.name)).to.equal(undefined);
          expect(calls.failures()).to.deep.equal([]);
        });

    it('causes no further change after its adoption', async () => {
      createCapaResources(world, 'prod', 'settled', 'prod-default_settled_fargate');
      await applyCapaProfile(world, 'prod', 'settled', { roleName: 'prod-default_settled_fargate' });
      await eventually(() => world.awsView.profile('default_settled')?.tags[OWNER_TAG] === 'default/settled');
      await eventually(async () => (await world.profile('settled'))?.status?.['observedGeneration'] === 1);
      const calls = callsFromNow(world.aws);
      await triggerReconcile(world, 'settled');
      await eventually(() => calls.lines().includes('iam:ListAttachedRolePolicies 200'));
      expect(operationsOf(calls)).to.deep.equal([]);
      await remove('settled');
    });

    it('is adopted when its role is CAPA’s shared role, which is never adopted', async () => {
      const role = world.aws.admin.putRole({
        name: CAPA_SHARED_ROLE,
        trustPolicy: CAPA_TRUST,
        tags: capaTags('prod'),
        attachedPolicies: [EKS_POLICY],
      });
      world.aws.admin.putProfile({
        cluster: inProd,
        name: 'default_sharer',
        podExecutionRoleArn: role.arn,
        tags: capaTags('prod'),
        foreign: false,
      });
      const calls = callsFromNow(world.aws);
      await applyCapaProfile(world, 'prod', 'sharer', { roleName: CAPA_SHARED_ROLE });
      await eventually(() => world.awsView.profile('default_sharer')?.tags[OWNER_TAG] === 'default/sharer');
      const { status } = await world.condition('sharer', 'Stalled', { status: 'False' });
      expect(status?.['role']).to.deep.include({ name: CAPA_SHARED_ROLE, managed: false });
      await remove('sharer');
      expect(operationsOf(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
      expect(world.awsView.role(CAPA_SHARED_ROLE)).to.deep.equal(role);
    });

    it('is left untouched when its role is CAPA’s shared role and the spec does not name it; the condition names the role', async () => {
      const role = world.awsView.role(CAPA_SHARED_ROLE);
      const before = world.aws.admin.putProfile({
        cluster: inProd,
        name: 'default_unnamed',
        podExecutionRoleArn: role?.arn ?? '',
        tags: capaTags('prod'),
        foreign: false,
      });
      const calls = callsFromNow(world.aws);
      await applyCapaProfile(world, 'prod', 'unnamed');
      const message = await stalledMessage('unnamed', 'SpecDiffers');
      expect(message).to.contain(`pod execution role is ${role?.arn} in AWS, but`);
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(world.awsView.profile('default_unnamed')).to.deep.equal(before);
      await world.patch('unnamed', { spec: { roleName: CAPA_SHARED_ROLE } });
      await world.ready('unnamed');
      await remove('unnamed');
      expect(operationsOf(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
    });
  });
});
