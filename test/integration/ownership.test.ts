import { expect } from 'chai';
import type { RoleView } from '../aws/views.ts';
import { callsFromNow } from '../world/calls.ts';
import type { Calls } from '../world/calls.ts';
import { eventually } from '../support/eventually.ts';
import {
  CAPA_SHARED_ROLE,
  CAPA_TRUST,
  EKS_POLICY,
  FINALIZER,
  applyAsCapaLeft,
  capaTags,
  leaveInAws,
} from '../world/from-capa.ts';
import { lookAgain } from '../world/look-again.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../world/world.ts';

const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
const CLUSTER_ARN = `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_prod-control-plane`;

const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

describe('whose a profile and a role are', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
    await world.createEksCluster('prod');
  });
  after(() => world.finish());

  const applyProfile = (name: string, spec: object = {}): Promise<void> => world.apply(fargateProfile(name, spec));

  async function refused(name: string, reason: string): Promise<string> {
    const object = await world.condition(name, 'Stalled', { status: 'True', reason });
    expect(standing(object)).to.deep.equal(stalled(reason));
    return messageOf(object, 'Ready');
  }

  async function remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
  }

  const inProd = 'default_prod-control-plane';
  const everybodys = (): RoleView =>
    world.inAws.role('everybodys') ?? world.aws.admin.putRole({ name: 'everybodys', trustPolicy: CAPA_TRUST });

  describe('a profile of the wanted name that is not ours', () => {
    const FREE = '; should the profile go, its name is taken by itself';
    const adoptable = (policy: string): string =>
      `, or set spec.adoptionPolicy to ${policy} to have the profile taken over`;
    const cases: readonly {
      whose: string;
      tags: Readonly<Record<string, string>>;
      spec?: object;
      words: string;
      way?: string;
    }[] = [
      { whose: 'nobody’s', tags: {}, words: 'somebody else: no tag names an owner', way: adoptable('Always') },
      {
        whose: 'another object’s',
        tags: { [OWNER_TAG]: 'shop/web', ...capaTags('prod') },
        words: 'the AWSFargateProfile shop/web',
      },
      {
        whose: 'another Cluster’s',
        tags: capaTags('staging'),
        words: 'something else of the cluster staging (tag kubernetes.io/cluster/staging=owned)',
      },
      {
        whose: 'shared with the cluster',
        tags: { 'kubernetes.io/cluster/prod': 'shared' },
        words: 'somebody else: no tag names an owner',
        way: adoptable('Always'),
      },
      {
        whose: 'another object’s, whatever is adopted',
        tags: { [OWNER_TAG]: 'shop/web' },
        spec: { adoptionPolicy: 'Always' },
        words: 'the AWSFargateProfile shop/web',
      },
      {
        whose: 'Cluster API Provider AWS’s, where nothing is adopted',
        tags: capaTags('prod'),
        spec: { adoptionPolicy: 'Never' },
        words: 'Cluster API Provider AWS, and spec.adoptionPolicy is Never',
        way: adoptable('Owned'),
      },
    ];
    for (const [index, { whose, tags, spec, words, way = FREE }] of cases.entries())
      it(`is left untouched and named: ${whose}`, async () => {
        const name = `foreign-${index}`;
        const before = world.aws.admin.putProfile({
          cluster: inProd,
          name: `default_${name}`,
          podExecutionRoleArn: everybodys().arn,
          tags,
        });
        const calls = callsFromNow(world.aws);
        await applyProfile(name, spec);
        expect(await refused(name, 'ProfileNotOwned')).to.equal(
          `Fargate profile "default_${name}" exists already and belongs to ${words}. It is left untouched. ` +
            `Choose another spec.profileName${way}.`,
        );
        await world.event(name, `Warning ProfileNotOwned: Fargate profile "default_${name}" exists already`);
        await remove(name);
        expect(operations(calls)).to.deep.equal([]);
        expect(world.inAws.profile(`default_${name}`)).to.deep.equal(before);
        world.aws.admin.removeProfile({ cluster: inProd, name: `default_${name}` });
      });

    it('is replaced by one of ours once it is gone', async () => {
      world.aws.admin.putProfile({
        cluster: inProd,
        name: 'default_freed',
        podExecutionRoleArn: everybodys().arn,
      });
      await applyProfile('freed');
      await refused('freed', 'ProfileNotOwned');
      expect(world.inAws.role('prod-default_freed_fargate'), 'a role is made only with its profile').to.equal(
        undefined,
      );
      world.aws.admin.removeProfile({ cluster: inProd, name: 'default_freed' });
      await lookAgain(world, 'freed');
      await world.ready('freed');
      await remove('freed');
    });
  });

  describe('a role of the computed name that is not ours', () => {
    const elsewhere = `arn:aws:eks:eu-west-1:${ACCOUNT}:cluster/default_prod-control-plane`;
    const cases: readonly { whose: string; tags: Readonly<Record<string, string>>; words: string }[] = [
      { whose: 'nobody’s', tags: {}, words: 'somebody else: no tag names an owner' },
      {
        whose: 'of a cluster of the same name in another region',
        tags: { [EKS_CLUSTER_TAG]: elsewhere, ...capaTags('prod') },
        words: `the profiles of EKS cluster ${elsewhere}`,
      },
      {
        whose: 'another Cluster’s, its tag in other case',
        tags: { 'Kubernetes.io/Cluster/staging': 'owned' },
        words: 'something else of the cluster staging (tag kubernetes.io/cluster/staging=owned)',
      },
    ];
    for (const [index, { whose, tags, words }] of cases.entries())
      it(`is left untouched and named, and no profile is made: ${whose}`, async () => {
        const name = `roleless-${index}`;
        const roleName = `prod-default_${name}_fargate`;
        const before = world.aws.admin.putRole({ name: roleName, trustPolicy: CAPA_TRUST, tags });
        const calls = callsFromNow(world.aws);
        await applyProfile(name);
        expect(await refused(name, 'RoleNotOwned')).to.equal(
          `IAM role "${roleName}" exists already and belongs to ${words}. It is left untouched. ` +
            'Name it in spec.roleARN to use it as it is, or choose another spec.roleName; should the role go, its name is taken by itself.',
        );
        await world.condition(name, 'IAMFargateRolesReady', { status: 'False', reason: 'RoleNotOwned' });
        await remove(name);
        expect(operations(calls)).to.deep.equal([]);
        expect(world.inAws.role(roleName)).to.deep.equal(before);
      });

    it('is used as it is once spec.roleARN names it', async () => {
      const before = world.aws.admin.putRole({ name: 'prod-default_mended_fargate', trustPolicy: CAPA_TRUST });
      const calls = callsFromNow(world.aws);
      await applyProfile('mended');
      await refused('mended', 'RoleNotOwned');
      await world.patch('mended', { spec: { roleARN: before.arn } });
      await world.ready('mended');
      await remove('mended');
      expect(operations(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile']);
      expect(world.inAws.role('prod-default_mended_fargate')).to.deep.equal(before);
    });
  });

  describe('two objects that name one profile', () => {
    it('the one that comes second is told whose it is, and takes over as soon as the name is free', async () => {
      const calls = callsFromNow(world.aws);
      await applyProfile('winner', { profileName: 'contested' });
      await world.ready('winner');
      await applyProfile('loser', { profileName: 'contested' });
      expect(await refused('loser', 'ProfileNotOwned')).to.contain(
        'Fargate profile "contested" exists already and belongs to the AWSFargateProfile default/winner.',
      );
      const { arn } = world.inAws.profile('contested') ?? {};
      await world.delete('winner');
      await world.gone('winner');
      await world.ready('loser', { timeoutMs: 20_000 });
      const profile = world.inAws.profile('contested');
      expect(profile?.tags[OWNER_TAG]).to.equal('default/loser');
      expect(profile?.arn, 'a profile of its own').not.to.equal(arn);
      await remove('loser');
      expect(operations(calls).filter((operation) => operation.endsWith('FargateProfile'))).to.deep.equal([
        'CreateFargateProfile',
        'DeleteFargateProfile',
        'CreateFargateProfile',
        'DeleteFargateProfile',
      ]);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('applied at the same moment, one of them has it, and the deletion of the other takes nothing away', async () => {
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
      await refused(loser, 'ProfileNotOwned');
      const before = world.inAws.profile('coin');
      expect(before?.tags[OWNER_TAG]).to.equal(`default/${winner}`);
      await remove(loser);
      expect(world.inAws.profile('coin')).to.deep.equal(before);
      expect(world.inAws.role(`coin-${loser}`), 'the role it had made meanwhile').to.equal(undefined);
      await remove(winner);
      expect(operations(calls).filter((operation) => operation === 'DeleteFargateProfile')).to.have.length(1);
    });
  });

  describe('adoptionPolicy Always', () => {
    it('takes over a nobody’s profile that is as the spec says, by tagging it, and deletes it with the object', async () => {
      const role = everybodys();
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
      expect(operations(calls)).to.deep.equal(['TagResource']);
      expect(world.inAws.profile('handmade')?.tags).to.deep.equal({
        costs: 'shop',
        [OWNER_TAG]: 'default/adopter',
        ...capaTags('prod'),
      });
      await remove('adopter');
      expect(operations(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
      expect(world.inAws.profile('handmade')).to.equal(undefined);
      expect(world.inAws.role('everybodys')).to.deep.equal(role);
    });

    it('leaves one alone that differs, and says in what', async () => {
      const role = everybodys();
      const before = world.aws.admin.putProfile({
        cluster: inProd,
        name: 'handmade-otherwise',
        podExecutionRoleArn: role.arn,
        selectors: [{ namespace: 'kube-system', labels: {} }],
      });
      const calls = callsFromNow(world.aws);
      const spec = { profileName: 'handmade-otherwise', roleARN: role.arn, adoptionPolicy: 'Always' };
      await applyProfile('chooser', spec);
      const message = await refused('chooser', 'ProfileNotOwned');
      expect(message).to.contain('selectors are namespace kube-system, wanted namespace default');
      await remove('chooser');
      expect(operations(calls)).to.deep.equal([]);
      expect(world.inAws.profile('handmade-otherwise')).to.deep.equal(before);
    });
  });

  describe('what Cluster API Provider AWS left', () => {
    const generations = [
      { generation: 'of today', roleName: (name: string) => `prod-default_${name}_fargate` },
      { generation: 'before v2.7.0', roleName: (name: string) => `default_prod-control-plane-default_${name}_fargate` },
    ];
    for (const [index, { generation, roleName }] of generations.entries())
      for (const filled of [true, false])
        it(`is taken over with the role name ${generation}, ${filled ? 'filled into' : 'absent from'} the spec`, async () => {
          const name = `left-${index}-${filled ? 'filled' : 'absent'}`;
          const { profile, role } = leaveInAws(world, 'prod', name, roleName(name));
          const calls = callsFromNow(world.aws);
          await applyAsCapaLeft(world, 'prod', name, filled ? { roleName: role.name } : {});
          await eventually(async () => {
            const { status } = (await world.profile(name)) ?? {};
            expect(status?.['initialization']).to.deep.equal({ provisioned: true });
            return true;
          });
          // Our tags, and the condition against the confused deputy, which their trust policy lacks.
          expect(operations(calls)).to.deep.equal(['TagRole', 'UpdateAssumeRolePolicy', 'TagResource']);
          const found = world.inAws.profile(profile.name);
          expect(found).to.deep.equal({
            ...profile,
            tags: { ...profile.tags, [OWNER_TAG]: `default/${name}` },
          });
          const { trustPolicy, tags, ...rest } = world.inAws.role(role.name) ?? expect.fail('the role is gone');
          const { trustPolicy: _trust, tags: _tags, ...before } = role;
          expect(rest).to.deep.equal(before);
          expect(tags).to.deep.equal({ ...role.tags, [EKS_CLUSTER_TAG]: CLUSTER_ARN });
          expect(trustPolicy).to.contain(`arn:aws:eks:us-east-1:${ACCOUNT}:fargateprofile/${inProd}/*`);

          const object = await world.ready(name);
          expect(object.metadata.finalizers).to.deep.equal([FINALIZER]);
          expect(object.status).not.to.have.property('failureReason');
          expect(object.status?.conditions?.map(({ type }) => type)).not.to.include('EKSFargateCreating');
          await remove(name);
          expect(world.inAws.profile(profile.name)).to.equal(undefined);
          expect(world.inAws.role(role.name)).to.equal(undefined);
          expect(calls.failures()).to.deep.equal([]);
        });

    it('costs no further change once it is taken over', async () => {
      leaveInAws(world, 'prod', 'settled', 'prod-default_settled_fargate');
      await applyAsCapaLeft(world, 'prod', 'settled', { roleName: 'prod-default_settled_fargate' });
      await eventually(() => world.inAws.profile('default_settled')?.tags[OWNER_TAG] === 'default/settled');
      await eventually(async () => (await world.profile('settled'))?.status?.['observedGeneration'] === 1);
      const calls = callsFromNow(world.aws);
      await lookAgain(world, 'settled');
      await eventually(() => calls.lines().includes('iam:ListAttachedRolePolicies 200'));
      expect(operations(calls)).to.deep.equal([]);
      await remove('settled');
    });

    it('with the role that it shares between all profiles: the profile is taken over, the role never', async () => {
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
      await applyAsCapaLeft(world, 'prod', 'sharer', { roleName: CAPA_SHARED_ROLE });
      await eventually(() => world.inAws.profile('default_sharer')?.tags[OWNER_TAG] === 'default/sharer');
      const { status } = await world.condition('sharer', 'Stalled', { status: 'False' });
      expect(status?.['role']).to.deep.include({ name: CAPA_SHARED_ROLE, managed: false });
      await remove('sharer');
      expect(operations(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
      expect(world.inAws.role(CAPA_SHARED_ROLE)).to.deep.equal(role);
    });

    it('with the shared role, not named in the spec: nothing is touched, and the role to name is said', async () => {
      const role = world.inAws.role(CAPA_SHARED_ROLE);
      const before = world.aws.admin.putProfile({
        cluster: inProd,
        name: 'default_unnamed',
        podExecutionRoleArn: role?.arn ?? '',
        tags: capaTags('prod'),
        foreign: false,
      });
      const calls = callsFromNow(world.aws);
      await applyAsCapaLeft(world, 'prod', 'unnamed');
      const message = await refused('unnamed', 'SpecDiffers');
      expect(message).to.contain(`the pod execution role is ${role?.arn}, wanted`);
      expect(operations(calls)).to.deep.equal([]);
      expect(world.inAws.profile('default_unnamed')).to.deep.equal(before);
      await world.patch('unnamed', { spec: { roleName: CAPA_SHARED_ROLE } });
      await world.ready('unnamed');
      await remove('unnamed');
      expect(operations(calls)).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
    });
  });
});
