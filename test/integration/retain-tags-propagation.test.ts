import { TagResourceCommand } from '@aws-sdk/client-eks';
import { TagRoleCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import type { ProfileView, RoleView } from '../aws/views.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import type { Calls } from '../world/calls.ts';
import { lookAgain } from '../world/look-again.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { Stranger } from '../world/stranger.ts';
import { strangerIn } from '../world/stranger.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

const OTHER_ACCOUNT = '210987654321';
const OTHER_KEY = 'other-account';
const RETAIN = 'aws-fargate.cluster.x-k8s.io/retain';
const OWN_TAGS = 'sigs.k8s.io/cluster-api-provider-aws-fargate/';

const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

describe('one object and AWS', () => {
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

  // A test that fails is not to fail those after it.
  afterEach(() => {
    world.aws.admin.allow();
    world.aws.admin.setConfig({ eks: { createMs: 300 } });
  });

  const profileOf = (name: string): ProfileView =>
    world.inAws.profile(`default_${name}`) ?? expect.fail(`there is no Fargate profile default_${name}`);
  const roleOf = (name: string): RoleView =>
    world.inAws.role(`${name}-default_${name}_fargate`) ?? expect.fail(`the role of ${name} is not there`);

  async function start(name: string, spec: object = {}, ofCluster: object = {}): Promise<void> {
    await world.createEksCluster(name, ofCluster);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  }

  async function remove(name: string): Promise<void> {
    await world.delete(name);
    await world.gone(name);
  }

  describe('deletionPolicy Retain', () => {
    it('lets go at once of a profile that EKS is still creating, and everything comes to be and stays', async () => {
      world.aws.admin.setConfig({ eks: { createMs: 2_000 } });
      await start('half', { deletionPolicy: 'Retain' });
      await eventually(() => world.inAws.profile('default_half')?.status === 'CREATING', { intervalMs: 5 });
      await world.condition('half', 'Ready', { status: 'False', reason: 'Creating' });
      const calls = callsFromNow(world.aws);
      await remove('half');
      await eventually(() => profileOf('half').status === 'ACTIVE');
      world.aws.admin.setConfig({ eks: { createMs: 300 } });
      expect(operations(calls)).to.deep.equal([]);
      expect(Object.keys(profileOf('half').tags).some((key) => key.startsWith(OWN_TAGS))).to.equal(true);
      await world.apply(fargateProfile('half', { clusterName: 'half', deletionPolicy: 'Delete' }));
      await world.ready('half');
      await remove('half');
    });

    it('is the way out where the credentials are lost: it needs none', async () => {
      await start('locked-out', { deletionPolicy: 'Retain' });
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

    it('set on an object whose deletion has begun and is stuck, lets it go as it is', async () => {
      await start('change-of-mind');
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

    it('holds by its annotation alone, and ends only with an explicit Delete', async () => {
      await start('mirrored', { deletionPolicy: 'Retain' });
      const retained = await world.ready('mirrored');
      expect(retained.metadata.annotations).to.have.property(RETAIN);
      // What an installation of a CRD without the field makes of the object.
      await world.patch('mirrored', { spec: { deletionPolicy: null } });
      await lookAgain(world, 'mirrored');
      const calls = callsFromNow(world.aws);
      await remove('mirrored');
      expect(operations(calls)).to.deep.equal([]);
      expect(profileOf('mirrored').status).to.equal('ACTIVE');

      await world.apply(fargateProfile('mirrored', { clusterName: 'mirrored', deletionPolicy: 'Retain' }));
      await eventually(async () => (await world.profile('mirrored'))?.metadata.annotations?.[RETAIN] !== undefined);
      await world.patch('mirrored', { spec: { deletionPolicy: 'Delete' } });
      await eventually(async () => (await world.profile('mirrored'))?.metadata.annotations?.[RETAIN] === undefined);
      await remove('mirrored');
      expect(world.inAws.profile('default_mirrored')).to.equal(undefined);
    });
  });

  describe('tags', () => {
    it('come from object and control plane, the object’s first; IAM takes keys that differ in case for one', async () => {
      await start(
        'cases',
        { additionalTags: { Team: 'object', only: 'object' } },
        { additionalTags: { team: 'control plane', stage: 'test', Only: 'control plane' } },
      );
      await world.ready('cases');
      const own = Object.keys(profileOf('cases').tags).filter((key) => key.startsWith(OWN_TAGS));
      expect(own).to.have.length(1);
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
      await lookAgain(world, 'cases');
      await eventually(() => calls.lines().includes('iam:ListAttachedRolePolicies 200'));
      expect(operations(calls), 'no quarrel about the case').to.deep.equal([]);
    });

    it('are taken off only where this controller once set them, whoever set others of the same name elsewhere', async () => {
      await start('keys', { additionalTags: { mine: '1', 'also-mine': '1' } });
      await world.ready('keys');
      const { arn } = profileOf('keys');
      const RoleName = roleOf('keys').name;
      await stranger.eks.send(new TagResourceCommand({ resourceArn: arn, tags: { theirs: 'x', Mine: 'theirs' } }));
      await stranger.iam.send(new TagRoleCommand({ RoleName, Tags: [{ Key: 'theirs', Value: 'x' }] }));
      const calls = callsFromNow(world.aws);
      await world.patch('keys', { spec: { additionalTags: { mine: null } } });
      await eventually(() => {
        expect(operations(calls).toSorted()).to.deep.equal(['UntagResource', 'UntagRole']);
      });
      expect(profileOf('keys').tags).to.include({ theirs: 'x', Mine: 'theirs', 'also-mine': '1' });
      expect(profileOf('keys').tags).not.to.have.property('mine');
      expect(roleOf('keys').tags).to.include({ theirs: 'x', 'also-mine': '1' });
      expect(roleOf('keys').tags).not.to.have.property('mine');
      expect(profileOf('keys').tags).to.include({ 'kubernetes.io/cluster/keys': 'owned' });
    });

    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, 'x']));
    const cases: readonly { what: string; object?: object; controlPlane: object; says: string }[] = [
      {
        what: 'more than fifty of both together',
        object: many(30, 'object'),
        controlPlane: many(30, 'plane'),
        says: "62 tags, of which 2 are this controller's own, are more than the 50 AWS allows",
      },
      {
        what: 'a key of AWS’s own on the control plane',
        controlPlane: { 'aws:team': 'x' },
        says: 'tag "aws:team" of the control plane: keys that begin with "aws:" are reserved for AWS',
      },
      {
        what: 'a value too long on the control plane',
        controlPlane: { note: 'x'.repeat(257) },
        says: 'tag "note" of the control plane: the value has 257 characters, AWS allows 256',
      },
    ];
    for (const [index, { what, object = {}, controlPlane, says }] of cases.entries())
      it(`that AWS would refuse are said, and nothing is made: ${what}`, async () => {
        const name = `limits-${index}`;
        const calls = callsFromNow(world.aws);
        await start(name, { additionalTags: object }, { additionalTags: controlPlane });
        const found = await world.condition(name, 'Stalled', { status: 'True', reason: 'TagsInvalid' });
        expect(standing(found)).to.deep.equal(stalled('TagsInvalid'));
        expect(messageOf(found, 'Ready')).to.equal(
          `AWS would refuse the tags: ${says}. Correct additionalTags of this object or of its control plane.`,
        );
        await world.event(name, 'Warning TagsInvalid');
        expect(operations(calls)).to.deep.equal([]);
        await world.controlPlane.api.patch(controlPlanePath(name), { spec: { additionalTags: null } });
        await world.ready(name);
        await remove(name);
      });

    it('that become wrong on the control plane take nothing from a profile that is there', async () => {
      await start('spoilt', { additionalTags: { team: 'a' } });
      await world.ready('spoilt');
      const before = [profileOf('spoilt'), roleOf('spoilt')];
      const calls = callsFromNow(world.aws);
      await world.controlPlane.api.patch(controlPlanePath('spoilt'), { spec: { additionalTags: { 'aws:x': 'y' } } });
      await world.condition('spoilt', 'Stalled', { status: 'True', reason: 'TagsInvalid' });
      expect(operations(calls)).to.deep.equal([]);
      expect([profileOf('spoilt'), roleOf('spoilt')]).to.deep.equal(before);
      // And they do not stand in the way of its deletion.
      await remove('spoilt');
      expect(world.inAws.profile('default_spoilt')).to.equal(undefined);
    });
  });

  describe('read-your-own-writes', () => {
    it('a burst of changes while it is made: one role, one profile, the last spec, and nothing twice', async () => {
      const calls = callsFromNow(world.aws);
      await start('burst', { additionalTags: { round: '0' } });
      for (let round = 1; round <= 20; round++) {
        await world.patch('burst', { spec: { additionalTags: { round: String(round) } } });
      }
      await eventually(() => world.inAws.profile('default_burst')?.tags['round'] === '20', { timeoutMs: 20_000 });
      await eventually(() => roleOf('burst').tags['round'] === '20');
      await world.ready('burst');
      const made = operations(calls).filter((operation) => operation.startsWith('Create'));
      expect(made).to.deep.equal(['CreateRole', 'CreateFargateProfile']);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('an object that is deleted and applied again and again leaves no double behind', async () => {
      await world.createEksCluster('again');
      const calls = callsFromNow(world.aws);
      for (let round = 0; round < 3; round++) {
        await world.apply(fargateProfile('again', { clusterName: 'again' }));
        if (round > 0) await world.ready('again');
        else await eventually(() => calls.lines().includes('iam:CreateRole 200'), { intervalMs: 5 });
        await remove('again');
        expect(world.inAws.profile('default_again')).to.equal(undefined);
        expect(world.inAws.role('again-default_again_fargate')).to.equal(undefined);
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

  it('are told from the right ones: nothing is read, changed or given up, until the right ones are back', async () => {
    const { name: cluster } = await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'), fargateProfile('leaving'));
    await Promise.all([world.ready('web'), world.ready('leaving')]);
    // The other account has a cluster and a profile of the same names, of which the tags say the same.
    const [mine] = world.aws.admin.profiles().filter(({ name }) => name === 'default_web');
    world.aws.admin.createCluster({ name: cluster, account: OTHER_ACCOUNT });
    const theirs = world.aws.admin.putProfile({
      account: OTHER_ACCOUNT,
      cluster,
      name: 'default_web',
      podExecutionRoleArn: `arn:aws:iam::${OTHER_ACCOUNT}:role/prod-default_web_fargate`,
      tags: mine?.tags ?? {},
    });
    const afterSeq = world.aws.log.read().at(-1)?.seq ?? 0;
    await world.stopManager();
    await world.startManager({ accessKeyId: OTHER_KEY });
    await lookAgain(world, 'web');
    await world.delete('leaving');
    for (const [name, condition, way] of [
      ['web', 'Ready', ''],
      [
        'leaving',
        'Deleting',
        '; or set spec.deletionPolicy to Retain to let the object go and leave in AWS what is there',
      ],
    ] as const) {
      const object = await world.condition(name, 'CredentialsReady', { status: 'False', reason: 'WrongAccount' });
      expect(standing(object).Stalled).to.equal('True WrongAccount');
      expect(messageOf(object, condition)).to.equal(
        `The credentials of the manager itself belong to account ${OTHER_ACCOUNT}, but this object was provisioned in account ${ACCOUNT}: ` +
          `nothing is read or changed there. Give the manager itself credentials of account ${ACCOUNT}${way}.`,
      );
      await world.event(name, 'Warning WrongAccount');
    }
    const asked = world.aws.log.read({ afterSeq, accessKeyId: OTHER_KEY }).map(({ operation }) => operation);
    expect([...new Set(asked)]).to.deep.equal(['GetCallerIdentity']);
    expect(world.aws.admin.profiles().find(({ account }) => account === OTHER_ACCOUNT)).to.deep.equal(theirs);
    expect((await world.profile('leaving'))?.metadata.finalizers).to.have.length(1);

    await world.stopManager();
    await world.startManager();
    await lookAgain(world, 'web');
    await Promise.all([world.ready('web'), world.gone('leaving')]);
  });
});
