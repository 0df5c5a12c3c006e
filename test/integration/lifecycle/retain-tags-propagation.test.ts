import { TagResourceCommand } from '@aws-sdk/client-eks';
import { TagRoleCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import { ADDED_TAG, OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ProfileView, RoleView } from '../../aws/admin/views.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { OtherClient } from '../../world/aws/other-client.ts';
import { createOtherClient } from '../../world/aws/other-client.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';
import { holdChange, operationsOf } from '../../world/aws/operations.ts';

const OTHER_ACCOUNT = '210987654321';
const OTHER_KEY = 'other-account';
const RETAIN = 'aws-fargate.cluster.x-k8s.io/retain';
const OWN_TAGS = 'sigs.k8s.io/cluster-api-provider-aws-fargate/';

describe('retention, tags and eventual consistency', () => {
  let world: World;
  let stranger: OtherClient;
  before(async () => {
    world = await startWorld();
    stranger = createOtherClient(world);
    await world.startManager();
  });
  after(() => world.finish());

  // A failed test may leave the AWS emulator with other permissions. This hook resets them, so that the next tests do not
  // fail too.
  afterEach(() => world.aws.admin.allow());

  const profileOf = (name: string): ProfileView =>
    world.awsView.profile(`default_${name}`) ?? expect.fail(`there is no Fargate profile default_${name}`);
  const roleOf = (name: string): RoleView =>
    world.awsView.role(`${name}-default_${name}_fargate`) ?? expect.fail(`the role of ${name} is not there`);

  async function applyWithCluster(name: string, spec: object = {}, ofCluster: object = {}): Promise<void> {
    await world.createEksCluster(name, ofCluster);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  }

  async function remove(name: string): Promise<void> {
    await world.delete(name);
    await world.gone(name);
  }

  describe('deletionPolicy Retain', () => {
    it('an object is deleted at once while EKS creates its profile, which becomes ACTIVE and stays', async () => {
      const held = holdChange(world.aws, 'Create', 'default_half');
      await applyWithCluster('half', { deletionPolicy: 'Retain' });
      const profile = await held;
      await world.condition('half', 'Ready', { status: 'False', reason: 'Creating' });
      const calls = callsFromNow(world.aws);
      await remove('half');
      world.aws.admin.setProfile({ ...profile, status: 'ACTIVE' });
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(Object.keys(profileOf('half').tags).some((key) => key.startsWith(OWN_TAGS))).to.equal(true);
      await world.apply(fargateProfile('half', { clusterName: 'half', deletionPolicy: 'Delete' }));
      await world.ready('half');
      await remove('half');
    });

    it('an object is deleted without credentials', async () => {
      await applyWithCluster('locked-out', { deletionPolicy: 'Retain' });
      await world.ready('locked-out');
      const before = [profileOf('locked-out'), roleOf('locked-out')];
      world.aws.admin.deny({ principal: '*', action: '*', resource: '*' });
      const calls = callsFromNow(world.aws);
      await remove('locked-out');
      world.aws.admin.allow();
      expect(calls.lines()).to.deep.equal([]);
      expect([profileOf('locked-out'), roleOf('locked-out')]).to.deep.equal(before);
      await world.apply(fargateProfile('locked-out', { clusterName: 'locked-out', deletionPolicy: 'Delete' }));
      await world.ready('locked-out');
      await remove('locked-out');
    });

    it('an object that the deletion of its namespace deletes before its Cluster stays with its profile, and says why', async () => {
      const namespace = 'going';
      await world.createNamespace(namespace);
      await world.createEksCluster('prod', { namespace });
      await world.apply(fargateProfile('kept', { deletionPolicy: 'Retain' }, { namespace }));
      await world.ready('kept', { namespace });
      // This control plane has no namespace controller, so the namespace stays Terminating with all its objects.
      await world.controlPlane.api.delete(`/api/v1/namespaces/${namespace}`);
      await world.delete('kept', namespace);
      await world.condition(
        'kept',
        'Stalled',
        { status: 'True', reason: 'RetainBlocksClusterDeletion' },
        { namespace },
      );
      expect(world.awsView.profile(`${namespace}_kept`)?.status).to.equal('ACTIVE');
      await world.patch('kept', { spec: { deletionPolicy: 'Delete' } }, namespace);
      await world.gone('kept', { namespace });
    });

    it('Retain, set during a deletion that AWS denies, ends the deletion and leaves the profile', async () => {
      await applyWithCluster('change-of-mind');
      await world.ready('change-of-mind');
      world.aws.admin.deny({ principal: '*', action: 'eks:DeleteFargateProfile', resource: '*' });
      await world.delete('change-of-mind');
      await world.condition('change-of-mind', 'Deleting', { status: 'True', reason: 'AccessDenied' });
      await world.patch('change-of-mind', { spec: { deletionPolicy: 'Retain' } });
      await world.gone('change-of-mind');
      world.aws.admin.allow();
      expect(profileOf('change-of-mind').status).to.equal('ACTIVE');
      await world.apply(fargateProfile('change-of-mind', { clusterName: 'change-of-mind', deletionPolicy: 'Delete' }));
      await world.ready('change-of-mind');
      await remove('change-of-mind');
    });

    it('the retain annotation alone keeps the profile; only an explicit Delete ends that', async () => {
      await applyWithCluster('mirrored', { deletionPolicy: 'Retain' });
      const retained = await world.ready('mirrored');
      expect(retained.metadata.annotations).to.have.property(RETAIN);
      // If the API server has a CRD without the field spec.deletionPolicy, it drops the field from the object. This
      // patch has the same effect on the object.
      await world.patch('mirrored', { spec: { deletionPolicy: null } });
      await triggerReconcile(world, 'mirrored');
      const calls = callsFromNow(world.aws);
      await remove('mirrored');
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(profileOf('mirrored').status).to.equal('ACTIVE');

      await world.apply(fargateProfile('mirrored', { clusterName: 'mirrored', deletionPolicy: 'Retain' }));
      await eventually(async () => (await world.profile('mirrored'))?.metadata.annotations?.[RETAIN] !== undefined);
      await world.patch('mirrored', { spec: { deletionPolicy: 'Delete' } });
      await eventually(async () => (await world.profile('mirrored'))?.metadata.annotations?.[RETAIN] === undefined);
      await remove('mirrored');
      expect(world.awsView.profile('default_mirrored')).to.equal(undefined);
    });
  });

  describe('tags', () => {
    it('tags of the object take precedence over tags of the control plane; IAM ignores the case of keys', async () => {
      await applyWithCluster(
        'cases',
        { additionalTags: { Team: 'object', only: 'object' } },
        { additionalTags: { team: 'control plane', stage: 'test', Only: 'control plane' } },
      );
      await world.ready('cases');
      const own = Object.keys(profileOf('cases').tags).filter((key) => key.startsWith(OWN_TAGS));
      expect(own).to.have.members([OWNER_TAG, ADDED_TAG]);
      expect(profileOf('cases').tags).to.deep.include({
        Team: 'object',
        team: 'control plane',
        only: 'object',
        Only: 'control plane',
        stage: 'test',
      });
      const { tags } = roleOf('cases');
      expect(tags).to.deep.include({ Team: 'object', only: 'object', stage: 'test' });
      expect(Object.keys(tags)).not.to.include.members(['team']);
      expect(Object.keys(tags)).not.to.include.members(['Only']);
      const calls = callsFromNow(world.aws);
      await triggerReconcile(world, 'cases');
      await eventually(() => calls.lines().includes('iam:ListAttachedRolePolicies 200'));
      expect(operationsOf(calls), 'no write for keys that differ in case only').to.deep.equal([]);
    });

    it('only tags that this controller set are removed, also when other clients set tags with similar keys', async () => {
      await applyWithCluster('keys', { additionalTags: { mine: '1', 'also-mine': '1' } });
      await world.ready('keys');
      const { arn } = profileOf('keys');
      const RoleName = roleOf('keys').name;
      await stranger.eks.send(new TagResourceCommand({ resourceArn: arn, tags: { theirs: 'x', Mine: 'theirs' } }));
      await stranger.iam.send(new TagRoleCommand({ RoleName, Tags: [{ Key: 'theirs', Value: 'x' }] }));
      const calls = callsFromNow(world.aws);
      await world.patch('keys', { spec: { additionalTags: { mine: null } } });
      await eventually(() => {
        expect(operationsOf(calls).toSorted()).to.deep.equal(['TagResource', 'TagRole', 'UntagResource', 'UntagRole']);
      });
      expect(profileOf('keys').tags).to.include({ theirs: 'x', Mine: 'theirs', 'also-mine': '1' });
      expect(profileOf('keys').tags).not.to.have.property('mine');
      expect(roleOf('keys').tags).to.include({ theirs: 'x', 'also-mine': '1' });
      expect(roleOf('keys').tags).not.to.have.property('mine');
      expect(profileOf('keys').tags).to.include({ 'kubernetes.io/cluster/keys': 'owned' });
    });

    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, 'x']));
    const cases: readonly { what: string; objectTags?: object; controlPlane: object; problem: string }[] = [
      {
        what: 'more than 50 tags in total',
        objectTags: many(30, 'object'),
        controlPlane: many(30, 'plane'),
        problem: 'there are 62 tags (2 of them from this controller), but AWS allows only 50',
      },
      {
        what: 'a reserved key on the control plane',
        controlPlane: { 'aws:team': 'x' },
        problem: 'tag "aws:team" of the control plane: AWS reserves keys that begin with "aws:"',
      },
      {
        what: 'a too long value on the control plane',
        controlPlane: { note: 'x'.repeat(257) },
        problem: 'tag "note" of the control plane: the value has 257 characters, but AWS allows only 256',
      },
    ];
    for (const [index, { what, objectTags = {}, controlPlane, problem }] of cases.entries())
      it(`invalid tags are reported and nothing is created: ${what}`, async () => {
        const name = `limits-${index}`;
        const calls = callsFromNow(world.aws);
        await applyWithCluster(name, { additionalTags: objectTags }, { additionalTags: controlPlane });
        const object = await world.condition(name, 'Stalled', { status: 'True', reason: 'TagsInvalid' });
        expect(summaryOf(object)).to.deep.equal(stalled('TagsInvalid'));
        expect(messageOf(object, 'Ready')).to.equal(
          `AWS does not accept the tags for this object: ${problem}. Correct the tags that this message names, in spec.additionalTags of this object or of its control plane. The controller then continues on its own.`,
        );
        await world.event(name, 'Warning TagsInvalid');
        expect(operationsOf(calls)).to.deep.equal([]);
        await world.controlPlane.api.patch(controlPlanePath(name), { spec: { additionalTags: null } });
        await world.ready(name);
        await remove(name);
      });

    it('tags that become invalid on the control plane change nothing in AWS and do not block the deletion', async () => {
      await applyWithCluster('spoilt', { additionalTags: { team: 'a' } });
      await world.ready('spoilt');
      const before = [profileOf('spoilt'), roleOf('spoilt')];
      const calls = callsFromNow(world.aws);
      await world.controlPlane.api.patch(controlPlanePath('spoilt'), { spec: { additionalTags: { 'aws:x': 'y' } } });
      await world.condition('spoilt', 'Stalled', { status: 'True', reason: 'TagsInvalid' });
      expect(operationsOf(calls)).to.deep.equal([]);
      expect([profileOf('spoilt'), roleOf('spoilt')]).to.deep.equal(before);
      await remove('spoilt');
      expect(world.awsView.profile('default_spoilt')).to.equal(undefined);
    });
  });

  describe('reading its own writes', () => {
    it('a burst of changes during the creation creates one role and one profile, with the tags of the last spec', async () => {
      const calls = callsFromNow(world.aws);
      await applyWithCluster('burst', { additionalTags: { round: '0' } });
      for (let round = 1; round <= 20; round++) {
        await world.patch('burst', { spec: { additionalTags: { round: String(round) } } });
      }
      await eventually(() => world.awsView.profile('default_burst')?.tags['round'] === '20');
      await eventually(() => roleOf('burst').tags['round'] === '20');
      await world.ready('burst');
      const made = operationsOf(calls).filter((operation) => operation.startsWith('Create'));
      expect(made).to.deep.equal(['CreateRole', 'CreateFargateProfile']);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('an object that is deleted and created repeatedly leaves neither profile nor role behind', async () => {
      await world.createEksCluster('again');
      const calls = callsFromNow(world.aws);
      for (let round = 0; round < 3; round++) {
        await world.apply(fargateProfile('again', { clusterName: 'again' }));
        if (round > 0) await world.ready('again');
        else await eventually(() => calls.lines().includes('iam:CreateRole 200'), { intervalMs: 5 });
        await remove('again');
        expect(world.awsView.profile('default_again')).to.equal(undefined);
        expect(world.awsView.role('again-default_again_fargate')).to.equal(undefined);
      }
      expect(calls.failures()).to.deep.equal([]);
    });
  });
});

describe('credentials of another account', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    world.aws.admin.registerKey({ accessKeyId: OTHER_KEY, account: OTHER_ACCOUNT });
    await world.startManager();
  });
  after(() => world.finish());

  it('are detected; nothing is read, changed or released until credentials of the right account return', async () => {
    const { name: cluster } = await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('leaving'));
    await Promise.all([world.ready('web'), world.ready('leaving')]);
    // The other AWS account has an EKS cluster and a Fargate profile with the same names and tags as those of `web`.
    const [original] = world.aws.admin.profiles().filter(({ name }) => name === 'default_web');
    world.aws.admin.createCluster({ name: cluster, account: OTHER_ACCOUNT });
    const theirs = world.aws.admin.putProfile({
      account: OTHER_ACCOUNT,
      cluster,
      name: 'default_web',
      podExecutionRoleArn: `arn:aws:iam::${OTHER_ACCOUNT}:role/prod-default_web_fargate`,
      tags: original?.tags ?? {},
    });
    const afterSeq = world.aws.log.read().at(-1)?.seq ?? 0;
    await world.stopManager();
    await world.startManager({ accessKeyId: OTHER_KEY });
    await triggerReconcile(world, 'web');
    await world.delete('leaving');
    for (const [name, condition, way] of [
      ['web', 'Ready', ''],
      [
        'leaving',
        'Deleting',
        ' Or set spec.deletionPolicy to Retain: then the deletion of this object ends, and its profile and role stay in AWS.',
      ],
    ] as const) {
      const object = await world.condition(name, 'CredentialsReady', { status: 'False', reason: 'WrongAccount' });
      expect(summaryOf(object).Stalled).to.equal('True WrongAccount');
      expect(messageOf(object, condition)).to.equal(
        `The credentials of the manager itself belong to account ${OTHER_ACCOUNT}, but this object records account ${ACCOUNT} for its Fargate profile. ` +
          `The controller reads and changes nothing in account ${OTHER_ACCOUNT}. Name an identity of account ${ACCOUNT} in spec.identityRef of the control plane, or change the credentials of the manager itself. The controller retries on its own.${way}`,
      );
      await world.event(name, 'Warning WrongAccount');
    }
    const asked = world.aws.log.read({ afterSeq, accessKeyId: OTHER_KEY }).map(({ operation }) => operation);
    expect([...new Set(asked)]).to.deep.equal(['GetCallerIdentity']);
    expect(world.aws.admin.profiles().find(({ account }) => account === OTHER_ACCOUNT)).to.deep.equal(theirs);
    expect((await world.profile('leaving'))?.metadata.finalizers).to.have.length(1);

    await world.stopManager();
    await world.startManager();
    await triggerReconcile(world, 'web');
    await Promise.all([world.ready('web'), world.gone('leaving')]);
  });
});
