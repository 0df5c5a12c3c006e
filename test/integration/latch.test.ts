import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import type { ProfileView, RoleView } from '../aws/views.ts';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import type { Calls } from '../world/calls.ts';
import { EKS_POLICY } from '../world/from-capa.ts';
import { lookAgain } from '../world/look-again.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../world/world.ts';

const STATUS = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const CREATE_MS = 800;
/** What EKS has begun then ends when the test says so. */
const NEVER_MS = 3_600_000;
const BAD_SUBNET = { code: 'InternalFailure', message: 'Something in the subnet is wrong', resourceIds: [] };

const operations = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);
const lifecycle = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .filter(({ operation }) => operation.endsWith('FargateProfile'))
    .map(({ operation, nouns, errorCode = '' }) => `${operation} ${nouns['fargateProfileName']}${errorCode}`);

/** EKS cannot change a profile: mistakes are mended in place until it was once what the spec wants, and never after. */
describe('changes of the spec', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: CREATE_MS, deleteMs: 400 } } });
    await world.startManager();
  });
  after(() => world.finish());

  // A test that fails is not to fail those after it.
  afterEach(() => setCreateMs(CREATE_MS));

  function profileOf(name: string): ProfileView {
    return world.inAws.profile(name) ?? expect.fail(`there is no Fargate profile ${name}`);
  }

  function roleOf(name: string): RoleView {
    return world.inAws.role(name) ?? expect.fail(`there is no role ${name}`);
  }

  async function start(name: string, spec: object = {}): Promise<readonly string[]> {
    const { subnets } = await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
    return subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
  }

  /** Of the creates that EKS takes from now on. */
  const setCreateMs = (createMs: number): void => world.aws.admin.setConfig({ eks: { createMs } });
  /** Has EKS end the create of the profile of an object that has a cluster of its own name. */
  const created = (name: string): void =>
    world.aws.admin.setProfile({ cluster: `default_${name}-control-plane`, name: `default_${name}`, status: 'ACTIVE' });

  const creating = (profile: string): Promise<true> =>
    eventually(() => world.inAws.profile(profile)?.status === 'CREATING', { intervalMs: 5 });

  async function remove(name: string): Promise<void> {
    await world.delete(name);
    await world.gone(name);
  }

  const isProvisioned = ({ status }: KubeObject): boolean =>
    (status?.['initialization'] as { provisioned?: boolean } | undefined)?.provisioned === true;

  /** Every version of an object from now on, as a watcher sees it. */
  function versionsOf(name: string): { readonly seen: readonly KubeObject[]; stop(): Promise<void> } {
    const stopping = new AbortController();
    const seen: KubeObject[] = [];
    const watching = (async () => {
      for await (const { object } of world.controlPlane.api.watch(STATUS, {}, stopping.signal)) {
        if (object.metadata.name === name) seen.push(object);
      }
    })().catch(() => undefined);
    return {
      seen,
      stop: async () => {
        stopping.abort();
        await watching;
      },
    };
  }

  /** What of a profile stands in AWS whenever the object says that it is Ready. */
  const neverReadyWithout = (versions: readonly KubeObject[], isRight: (object: KubeObject) => boolean): void => {
    for (const object of versions) {
      const ready = object.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      if (ready === 'True' && object.status?.['observedGeneration'] === object.metadata.generation) {
        expect(isRight(object), JSON.stringify(object)).to.equal(true);
      }
    }
  };

  describe('before the profile was ever ACTIVE as wanted', () => {
    it('are made while nothing can be created yet, and only the last counts', async () => {
      await world.createEksCluster('early', { ready: false });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('early', { clusterName: 'early', profileName: 'typo', roleName: 'typo' }));
      await world.condition('early', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
      await world.patch('early', {
        spec: { profileName: 'right', roleName: 'right', selectors: [{ namespace: 'right' }] },
      });
      await world.setControlPlaneReady('early', true);
      await world.ready('early');
      expect(profileOf('right').selectors).to.deep.equal([{ namespace: 'right', labels: {} }]);
      expect(operations(calls)).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
      await remove('early');
    });

    it('of selectors and subnets while EKS is creating: it is let finish, and made anew', async () => {
      const watched = versionsOf('hasty');
      const calls = callsFromNow(world.aws);
      setCreateMs(NEVER_MS);
      const [first, second] = await start('hasty', { selectors: [{ namespace: 'wrong' }] });
      await creating('default_hasty');
      setCreateMs(CREATE_MS);
      const { arn } = profileOf('default_hasty');
      await world.patch('hasty', { spec: { selectors: [{ namespace: 'right' }], subnetIDs: [second] } });
      await world.condition('hasty', 'Reconciling', { status: 'True', reason: 'WaitingForCreate' });
      created('hasty');
      const object = await world.ready('hasty');
      expect(isProvisioned(object)).to.equal(true);
      expect(profileOf('default_hasty')).to.deep.include({
        selectors: [{ namespace: 'right', labels: {} }],
        subnets: [second],
      });
      expect(first).not.to.equal(second);
      expect(lifecycle(calls)).to.deep.equal([
        'CreateFargateProfile default_hasty',
        'DeleteFargateProfile default_hasty',
        'CreateFargateProfile default_hasty',
      ]);
      await watched.stop();
      neverReadyWithout(watched.seen, ({ status }) => status?.['profileARN'] !== arn);
      await remove('hasty');
      expect(calls.failures()).to.deep.equal([]);
    });

    it('between the create call and the write of status: nothing is forgotten', async () => {
      const watched = versionsOf('racer');
      const calls = callsFromNow(world.aws);
      // EKS has taken the create, and its answer is on the way.
      const forget = world.aws.onCall(async ({ operation, nouns }: CallRecord, phase) => {
        if (operation !== 'CreateFargateProfile' || phase !== 'after' || nouns['fargateProfileName'] !== 'before')
          return;
        await world.patch('racer', {
          spec: { profileName: 'after', roleName: 'after-pods', selectors: [{ namespace: 'after' }] },
        });
      });
      await start('racer', { profileName: 'before', roleName: 'before-pods', selectors: [{ namespace: 'before' }] });
      await eventually(() => world.inAws.profile('after')?.status === 'ACTIVE', { timeoutMs: 20_000 });
      forget();
      await world.ready('racer');
      expect(profileOf('after')).to.deep.include({
        podExecutionRoleArn: roleOf('after-pods').arn,
        selectors: [{ namespace: 'after', labels: {} }],
      });
      expect(world.inAws.profile('before')).to.equal(undefined);
      expect(world.inAws.role('before-pods'), 'the role under the former name').to.equal(undefined);
      expect(lifecycle(calls)).to.deep.equal([
        'CreateFargateProfile before',
        'DeleteFargateProfile before',
        'CreateFargateProfile after',
      ]);
      await watched.stop();
      neverReadyWithout(watched.seen, ({ status }) => status?.['profileName'] === 'after');
      await remove('racer');
    });

    it('at each step of the way there, one after the other: the last is had, and nothing of the others is left', async () => {
      const steps = ['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole'];
      const done = new Set<string>();
      const forget = world.aws.onCall(async ({ operation }, phase) => {
        if (phase !== 'after' || !steps.includes(operation) || done.has(operation)) return;
        done.add(operation);
        const name = `turn-${done.size}`;
        await world.patch('fickle', {
          spec: { profileName: name, roleName: `${name}-pods`, selectors: [{ namespace: name }] },
        });
      });
      await start('fickle', { profileName: 'turn-0', roleName: 'turn-0-pods' });
      await eventually(() => done.size === steps.length, { timeoutMs: 30_000 });
      forget();
      const last = `turn-${steps.length}`;
      const { status } = await world.ready('fickle');
      expect(status).to.deep.include({ profileName: last });
      const { name: cluster } = world.aws.admin.clusters().find(({ name }) => name.includes('fickle')) ?? {};
      const profiles = world.aws.admin.profiles().filter((profile) => profile.cluster === cluster);
      expect(profiles.map(({ name }) => name)).to.deep.equal([last]);
      const roles = world.aws.admin.roles().filter(({ name }) => name.startsWith('turn-'));
      expect(roles.map(({ name }) => name)).to.deep.equal([`${last}-pods`]);
      await remove('fickle');
    });

    it('after CREATE_FAILED, at once: what failed is replaced by what is right', async () => {
      world.aws.admin.planFailure({ operation: 'create', profile: 'default_second-try', issues: [BAD_SUBNET] });
      const [first] = await start('second-try');
      await world.condition('second-try', 'Ready', { status: 'False', reason: 'CreateFailed' });
      world.aws.admin.clearPlannedFailures();
      const calls = callsFromNow(world.aws);
      // How soon: test/kernel/failures.test.ts.
      await world.patch('second-try', { spec: { subnetIDs: [first] } });
      await eventually(() => lifecycle(calls).length > 0);
      await world.ready('second-try');
      expect(profileOf('default_second-try').subnets).to.deep.equal([first]);
      await remove('second-try');
    });

    it('of the role: another path makes it anew, a boundary and policies are changed in place', async () => {
      const [tight, tighter] = ['tight', 'tighter'].map((name) => world.aws.admin.putPolicy({ name }));
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      // Somebody else’s profile keeps the lane: the role is there, and its profile cannot be yet.
      const { name: cluster } = await world.createEksCluster('tailored');
      world.aws.admin.putProfile({
        cluster,
        name: 'theirs',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
        status: 'CREATING',
      });
      const spec = { clusterName: 'tailored', roleName: 'tailored-pods' };
      await world.apply(fargateProfile('tailored', { ...spec, rolePermissionsBoundary: tight }));
      await world.condition('tailored', 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
      const first = roleOf('tailored-pods');
      expect(first.permissionsBoundary).to.equal(tight);

      const settles = (what: string, isSo: () => boolean): Promise<true> => eventually(isSo, { what });
      await world.patch('tailored', { spec: { rolePermissionsBoundary: tighter, roleAdditionalPolicies: [policy] } });
      await settles('the change', () => {
        const { permissionsBoundary, attachedPolicies } = roleOf('tailored-pods');
        return permissionsBoundary === tighter && attachedPolicies.includes(policy);
      });
      await world.patch('tailored', { spec: { rolePermissionsBoundary: null, roleAdditionalPolicies: null } });
      await settles('the change back', () => {
        const { permissionsBoundary, attachedPolicies } = roleOf('tailored-pods');
        return permissionsBoundary === undefined && !attachedPolicies.includes(policy);
      });
      expect(roleOf('tailored-pods')).to.deep.include({ id: first.id, attachedPolicies: [EKS_POLICY] });
      await world.patch('tailored', { spec: { rolePath: '/teams/' } });
      await settles('the move', () => world.inAws.role('tailored-pods')?.path === '/teams/');
      expect(roleOf('tailored-pods').id).not.to.equal(first.id);
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
      await world.ready('tailored');
      expect(profileOf('default_tailored').podExecutionRoleArn).to.equal(
        `arn:aws:iam::${ACCOUNT}:role/teams/tailored-pods`,
      );
      expect(roleOf('tailored-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
      await remove('tailored');
      expect(world.inAws.role('tailored-pods')).to.equal(undefined);
    });

    it('of the role while EKS creates the profile with the former one: the profile is made anew with the right one', async () => {
      const calls = callsFromNow(world.aws);
      setCreateMs(NEVER_MS);
      await start('recast');
      await creating('default_recast');
      setCreateMs(CREATE_MS);
      await world.patch('recast', { spec: { rolePath: '/teams/' } });
      await world.condition('recast', 'Reconciling', { status: 'True', reason: 'Creating' }, { generation: 2 });
      created('recast');
      await world.ready('recast');
      const roleName = 'recast-default_recast_fargate';
      expect(profileOf('default_recast').podExecutionRoleArn).to.equal(
        `arn:aws:iam::${ACCOUNT}:role/teams/${roleName}`,
      );
      expect(operations(calls)).to.deep.equal([
        'CreateRole',
        'AttachRolePolicy',
        'CreateFargateProfile',
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteRole',
        'CreateRole',
        'AttachRolePolicy',
        'CreateFargateProfile',
      ]);
      await remove('recast');
    });
  });

  describe('once it was ACTIVE as wanted', () => {
    before(async () => {
      await start('fixed');
      await world.ready('fixed');
    });

    const cases: readonly { change: object; says: string }[] = [
      { change: { selectors: [{ namespace: 'other' }] }, says: 'selectors is immutable once' },
      { change: { subnetIDs: ['subnet-0123456789abcdef0'] }, says: 'subnetIDs is immutable once' },
      { change: { profileName: 'other' }, says: 'profileName is immutable once' },
      { change: { roleName: 'other' }, says: 'roleName is immutable once' },
      { change: { rolePath: '/other/' }, says: 'rolePath is immutable once' },
      {
        change: { rolePermissionsBoundary: `arn:aws:iam::${ACCOUNT}:policy/other` },
        says: 'rolePermissionsBoundary is immutable once',
      },
      { change: { roleARN: `arn:aws:iam::${ACCOUNT}:role/other` }, says: 'roleARN is immutable once' },
      { change: { clusterName: 'other' }, says: 'clusterName is immutable' },
    ];
    for (const { change, says } of cases)
      it(`the API server refuses them: ${Object.keys(change).join()}`, async () => {
        const before = await world.profile('fixed');
        const outcome = await world.patch('fixed', { spec: change }).catch((error: Error) => error.message);
        expect(outcome).to.contain(says);
        expect(await world.profile('fixed')).to.deep.equal(before);
      });

    it('tags and additional policies change in place', async () => {
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      const calls = callsFromNow(world.aws);
      await world.patch('fixed', { spec: { additionalTags: { team: 'b' }, roleAdditionalPolicies: [policy] } });
      await eventually(() => {
        expect(operations(calls)).to.deep.equal(['TagRole', 'AttachRolePolicy', 'TagResource']);
      });
      const { metadata } = await world.ready('fixed');
      await eventually(
        async () => (await world.profile('fixed'))?.status?.['observedGeneration'] === metadata.generation,
      );
    });
  });

  describe('of an object whose status was lost', () => {
    const loseStatus = (name: string): Promise<unknown> =>
      world.controlPlane.api.get(`${STATUS}/${name}`).then(({ status }) =>
        world.controlPlane.api.patch(`${STATUS}/${name}/status`, {
          status: Object.fromEntries(Object.keys(status ?? {}).map((key) => [key, null])),
        }),
      );

    it('delete nothing: SpecDiffers names the fields, until the spec is what the profile is', async () => {
      const [first, second] = await start('amnesiac');
      const { spec } = await world.ready('amnesiac');
      const before = profileOf('default_amnesiac');
      await loseStatus('amnesiac');
      const calls = callsFromNow(world.aws);
      await world.patch('amnesiac', { spec: { selectors: [{ namespace: 'other' }], subnetIDs: [first] } });
      const object = await world.condition('amnesiac', 'Stalled', { status: 'True', reason: 'SpecDiffers' });
      expect(standing(object)).to.deep.equal(stalled('SpecDiffers'));
      expect(messageOf(object, 'Ready')).to.equal(
        'Fargate profile "default_amnesiac" differs from the spec in what EKS cannot change: ' +
          'selectors are namespace default, wanted namespace other; ' +
          `subnets are ${first}, ${second}, wanted ${first}. ` +
          'Make the spec match the profile, or delete this object, and the profile with it, and create it anew.',
      );
      await world.event('amnesiac', 'Warning SpecDiffers');
      await world.patch('amnesiac', { spec: { roleName: 'another' } });
      await world.condition('amnesiac', 'Stalled', { status: 'True', reason: 'SpecDiffers' });
      await lookAgain(world, 'amnesiac');
      await eventually(async () => {
        const { status, metadata } = (await world.profile('amnesiac')) ?? expect.fail('it went');
        return status?.['observedGeneration'] === metadata.generation;
      });
      expect(operations(calls)).to.deep.equal([]);
      expect(profileOf('default_amnesiac')).to.deep.equal(before);
      await world.patch('amnesiac', { spec: { selectors: spec?.['selectors'], subnetIDs: null, roleName: null } });
      const restored = await world.ready('amnesiac');
      expect(isProvisioned(restored)).to.equal(true);
      expect(operations(calls)).to.deep.equal([]);
      await remove('amnesiac');
    });

    it('and is deleted: all goes all the same', async () => {
      await start('forgotten', { profileName: 'forgotten-profile', roleName: 'forgotten-pods' });
      await world.ready('forgotten');
      await loseStatus('forgotten');
      await remove('forgotten');
      expect(world.inAws.profile('forgotten-profile')).to.equal(undefined);
      expect(world.inAws.role('forgotten-pods')).to.equal(undefined);
    });

    it('status comes back as it was when nothing differs', async () => {
      await start('healed');
      const { status } = await world.ready('healed');
      await loseStatus('healed');
      const calls = callsFromNow(world.aws);
      await lookAgain(world, 'healed');
      const restored = await world.ready('healed');
      const facts = ({
        conditions: _conditions,
        createRequestedAt: _at,
        tagKeys: _keys,
        ...rest
      }: Record<string, unknown>) => rest;
      expect(facts(restored.status ?? {})).to.deep.equal(facts(status ?? {}));
      expect(operations(calls)).to.deep.equal([]);
      await remove('healed');
    });
  });
});
