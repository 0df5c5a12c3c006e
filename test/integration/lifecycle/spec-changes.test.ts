import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import type { ProfileView, RoleView } from '../../aws/admin/views.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { Calls } from '../../world/aws/calls.ts';
import { EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';
import { HELD_MS, operationsOf } from '../../world/aws/operations.ts';

const STATUS = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
const CREATE_MS = 800;
const BAD_SUBNET = { code: 'InternalFailure', message: 'Something in the subnet is wrong', resourceIds: [] };

const lifecycle = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .filter(({ operation }) => operation.endsWith('FargateProfile'))
    .map(
      ({ operation, identifiers, errorCode = '' }) => `${operation} ${identifiers['fargateProfileName']}${errorCode}`,
    );

/**
 * EKS cannot change an existing Fargate profile. So the spec fields that define the Fargate profile become immutable
 * when the Fargate profile has been ACTIVE with the current spec. Before that, users can change these fields.
 */
describe('changes of the spec', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: CREATE_MS, deleteMs: 400 } } });
    await world.startManager();
  });
  after(() => world.finish());

  // A failed test may leave the AWS emulator with another duration of creations. This hook resets it, so that the next
  // tests do not fail too.
  afterEach(() => setCreateMs(CREATE_MS));

  function profileOf(name: string): ProfileView {
    return world.awsView.profile(name) ?? expect.fail(`there is no Fargate profile ${name}`);
  }

  function roleOf(name: string): RoleView {
    return world.awsView.role(name) ?? expect.fail(`there is no role ${name}`);
  }

  async function applyWithCluster(name: string, spec: object = {}): Promise<readonly string[]> {
    const { subnets } = await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
    return subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
  }

  /**
   * Sets how long EKS takes to create a Fargate profile from now on. A creation that has already begun keeps its
   * duration.
   */
  const setCreateMs = (createMs: number): void => world.aws.admin.setConfig({ eks: { createMs } });
  /**
   * Completes the creation of a Fargate profile in EKS. `name` is the name of both the AWSFargateProfile and its
   * Cluster.
   */
  const endCreate = (name: string): void =>
    world.aws.admin.setProfile({ cluster: `default_${name}-control-plane`, name: `default_${name}`, status: 'ACTIVE' });

  const waitUntilCreating = (profile: string): Promise<true> =>
    eventually(() => world.awsView.profile(profile)?.status === 'CREATING', { intervalMs: 5 });

  async function remove(name: string): Promise<void> {
    await world.delete(name);
    await world.gone(name);
  }

  const isProvisioned = ({ status }: RawObject): boolean =>
    (status?.['initialization'] as { provisioned?: boolean } | undefined)?.provisioned === true;

  /** Collects the versions of an AWSFargateProfile that a watch sends after this call. */
  function versionsOf(name: string): { readonly seen: readonly RawObject[]; stop(): Promise<void> } {
    const stopping = new AbortController();
    const seen: RawObject[] = [];
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

  /**
   * Expects `isRight` to return true for each version of an AWSFargateProfile that is Ready for its current generation.
   */
  const neverReadyWithout = (versions: readonly RawObject[], isRight: (object: RawObject) => boolean): void => {
    for (const object of versions) {
      const ready = object.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      if (ready === 'True' && object.status?.['observedGeneration'] === object.metadata.generation) {
        expect(isRight(object), JSON.stringify(object)).to.equal(true);
      }
    }
  };

  describe('before the profile was first ACTIVE as wanted', () => {
    it('are accepted while nothing can be created yet, and only the last spec is created', async () => {
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
      expect(operationsOf(calls)).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
      await remove('early');
    });

    it('to a label without a value, which kubectl drops: nothing is created, and the condition names the label', async () => {
      await world.createEksCluster('empty', { ready: false });
      const calls = callsFromNow(world.aws);
      const apply = async (compute: string | null): Promise<void> => {
        const selectors = [{ namespace: 'web', labels: { compute } }];
        const manifest = JSON.stringify(fargateProfile('empty', { clusterName: 'empty', selectors }));
        expect(await world.kubectl(['apply', '-f', '-'], manifest)).to.include({ code: 0 });
      };
      await apply('wrong');
      await apply(null);
      await world.setControlPlaneReady('empty', true);
      const object = await world.condition('empty', 'Stalled', { status: 'True', reason: 'InvalidSpec' });
      expect(messageOf(object, 'Ready')).to.equal(
        'spec.selectors[0].labels.compute has no value in the manifest that kubectl has applied, so the selector would ' +
          'match more pods than the manifest says. The empty value is written "". Correct this field. The controller then ' +
          'continues on its own.',
      );
      expect(calls.mutations()).to.deep.equal([]);
      await apply('fargate');
      await world.ready('empty');
      expect(profileOf('default_empty').selectors).to.deep.equal([
        { namespace: 'web', labels: { compute: 'fargate' } },
      ]);
      await remove('empty');
    });

    it('of selectors and subnets during a create: the create ends, then the profile is replaced', async () => {
      const watched = versionsOf('hasty');
      const calls = callsFromNow(world.aws);
      setCreateMs(HELD_MS);
      const [first, second] = await applyWithCluster('hasty', { selectors: [{ namespace: 'wrong' }] });
      await waitUntilCreating('default_hasty');
      setCreateMs(CREATE_MS);
      const { arn } = profileOf('default_hasty');
      await world.patch('hasty', { spec: { selectors: [{ namespace: 'right' }], subnetIDs: [second] } });
      await world.condition('hasty', 'Reconciling', { status: 'True', reason: 'WaitingForCreate' });
      endCreate('hasty');
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

    it('between the create call and the write of status: the created profile and role are deleted', async () => {
      const watched = versionsOf('racer');
      const calls = callsFromNow(world.aws);
      // The test changes the spec after EKS has executed CreateFargateProfile, and before the controller gets the
      // answer.
      const forget = world.aws.onCall(async ({ operation, identifiers }: CallRecord, phase) => {
        if (operation !== 'CreateFargateProfile' || phase !== 'after' || identifiers['fargateProfileName'] !== 'before')
          return;
        await world.patch('racer', {
          spec: { profileName: 'after', roleName: 'after-pods', selectors: [{ namespace: 'after' }] },
        });
      });
      await applyWithCluster('racer', {
        profileName: 'before',
        roleName: 'before-pods',
        selectors: [{ namespace: 'before' }],
      });
      await eventually(() => world.awsView.profile('after')?.status === 'ACTIVE');
      forget();
      await world.ready('racer');
      expect(profileOf('after')).to.deep.include({
        podExecutionRoleArn: roleOf('after-pods').arn,
        selectors: [{ namespace: 'after', labels: {} }],
      });
      expect(world.awsView.profile('before')).to.equal(undefined);
      expect(world.awsView.role('before-pods'), 'the role of the former name').to.equal(undefined);
      expect(lifecycle(calls)).to.deep.equal([
        'CreateFargateProfile before',
        'DeleteFargateProfile before',
        'CreateFargateProfile after',
      ]);
      await watched.stop();
      neverReadyWithout(watched.seen, ({ status }) => status?.['profileName'] === 'after');
      await remove('racer');
    });

    it('after each AWS call: the last spec wins, and nothing of the earlier specs is left', async () => {
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
      await applyWithCluster('fickle', { profileName: 'turn-0', roleName: 'turn-0-pods' });
      await eventually(() => done.size === steps.length);
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

    it('after CREATE_FAILED: the failed profile is replaced at once', async () => {
      world.aws.admin.planFailure({ operation: 'create', profile: 'default_second-try', issues: [BAD_SUBNET] });
      const [first] = await applyWithCluster('second-try');
      await world.condition('second-try', 'Ready', { status: 'False', reason: 'CreateFailed' });
      world.aws.admin.clearPlannedFailures();
      const calls = callsFromNow(world.aws);
      // This test checks the result of the changed spec. test/simulation/failures.test.ts checks on a virtual clock
      // that the change also ends the backoff after a failed creation.
      await world.patch('second-try', { spec: { subnetIDs: [first] } });
      await eventually(() => lifecycle(calls).length > 0);
      await world.ready('second-try');
      expect(profileOf('default_second-try').subnets).to.deep.equal([first]);
      await remove('second-try');
    });

    it('of the role: another path replaces the role, boundary and policies change in place', async () => {
      const [tight, tighter] = ['tight', 'tighter'].map((name) => world.aws.admin.putPolicy({ name }));
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      // While a Fargate profile of another owner is CREATING, EKS creates no other Fargate profile in the EKS cluster.
      // So the AWSFargateProfile of this test has a role but no Fargate profile yet.
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
      await settles('the move', () => world.awsView.role('tailored-pods')?.path === '/teams/');
      expect(roleOf('tailored-pods').id).not.to.equal(first.id);
      world.aws.admin.removeProfile({ cluster, name: 'theirs' });
      await world.ready('tailored');
      expect(profileOf('default_tailored').podExecutionRoleArn).to.equal(
        `arn:aws:iam::${ACCOUNT}:role/teams/tailored-pods`,
      );
      expect(roleOf('tailored-pods').attachedPolicies).to.deep.equal([EKS_POLICY]);
      await remove('tailored');
      expect(world.awsView.role('tailored-pods')).to.equal(undefined);
    });

    it('of the role during the create of the profile: the profile is created again with the new role', async () => {
      const calls = callsFromNow(world.aws);
      setCreateMs(HELD_MS);
      await applyWithCluster('recast');
      await waitUntilCreating('default_recast');
      setCreateMs(CREATE_MS);
      await world.patch('recast', { spec: { rolePath: '/teams/' } });
      await world.condition('recast', 'Reconciling', { status: 'True', reason: 'Creating' }, { generation: 2 });
      endCreate('recast');
      await world.ready('recast');
      const roleName = 'recast-default_recast_fargate';
      expect(profileOf('default_recast').podExecutionRoleArn).to.equal(
        `arn:aws:iam::${ACCOUNT}:role/teams/${roleName}`,
      );
      expect(operationsOf(calls)).to.deep.equal([
        'CreateRole',
        'AttachRolePolicy',
        'CreateFargateProfile',
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
        'CreateRole',
        'AttachRolePolicy',
        'CreateFargateProfile',
      ]);
      await remove('recast');
    });
  });

  describe('after the profile was first ACTIVE as wanted', () => {
    before(async () => {
      await applyWithCluster('fixed');
      await world.ready('fixed');
    });

    const cases: readonly { change: object; message: string }[] = [
      { change: { selectors: [{ namespace: 'other' }] }, message: 'selectors is immutable once' },
      { change: { subnetIDs: ['subnet-0123456789abcdef0'] }, message: 'subnetIDs is immutable once' },
      { change: { profileName: 'other' }, message: 'profileName is immutable once' },
      { change: { roleName: 'other' }, message: 'roleName is immutable once' },
      { change: { rolePath: '/other/' }, message: 'rolePath is immutable once' },
      {
        change: { rolePermissionsBoundary: `arn:aws:iam::${ACCOUNT}:policy/other` },
        message: 'rolePermissionsBoundary is immutable once',
      },
      { change: { roleARN: `arn:aws:iam::${ACCOUNT}:role/other` }, message: 'roleARN is immutable once' },
      { change: { clusterName: 'other' }, message: 'clusterName is immutable' },
    ];
    for (const { change, message } of cases)
      it(`are refused by the API server: ${Object.keys(change).join()}`, async () => {
        const before = await world.profile('fixed');
        const outcome = await world.patch('fixed', { spec: change }).catch((error: Error) => error.message);
        expect(outcome).to.contain(message);
        expect(await world.profile('fixed')).to.deep.equal(before);
      });

    it('of tags and additional policies are made in place', async () => {
      const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
      const calls = callsFromNow(world.aws);
      await world.patch('fixed', { spec: { additionalTags: { team: 'b' }, roleAdditionalPolicies: [policy] } });
      await eventually(() => {
        expect(operationsOf(calls)).to.deep.equal(['TagRole', 'AttachRolePolicy', 'TagResource']);
      });
      const { metadata } = await world.ready('fixed');
      await eventually(
        async () => (await world.profile('fixed'))?.status?.['observedGeneration'] === metadata.generation,
      );
    });
  });

  // spec.profileName is immutable, but the API server accepts the removal of a name that ends in `_<metadata.name>`: it
  // may be the computed default name, which Cluster API Provider AWS writes into the spec.
  it('that remove a profile name which ends in the name of the object keep the live profile', async () => {
    await applyWithCluster('kept', { profileName: 'shared_kept' });
    await world.ready('kept');
    const before = profileOf('shared_kept');
    const calls = callsFromNow(world.aws);
    await world.patch('kept', { spec: { profileName: null, additionalTags: { team: 'a' } } });
    await eventually(() => expect(operationsOf(calls)).to.deep.equal(['TagRole', 'TagResource']));
    const { status } = await world.ready('kept');
    expect(status?.['profileName']).to.equal('shared_kept');
    expect(profileOf('shared_kept')).to.deep.include({ arn: before.arn, status: 'ACTIVE' });
    expect(world.awsView.profile('default_kept')).to.equal(undefined);
    await remove('kept');
    expect(world.awsView.profile('shared_kept')).to.equal(undefined);
  });

  describe('of an object whose status was lost', () => {
    const loseStatus = (name: string): Promise<unknown> =>
      world.controlPlane.api.get(`${STATUS}/${name}`).then(({ status }) =>
        world.controlPlane.api.patch(`${STATUS}/${name}/status`, {
          status: Object.fromEntries(Object.keys(status ?? {}).map((key) => [key, null])),
        }),
      );

    it('delete nothing: SpecDiffers names the fields until the spec matches the profile', async () => {
      const [first, second] = await applyWithCluster('amnesiac');
      const { spec } = await world.ready('amnesiac');
      const before = profileOf('default_amnesiac');
      await loseStatus('amnesiac');
      const calls = callsFromNow(world.aws);
      await world.patch('amnesiac', { spec: { selectors: [{ namespace: 'other' }], subnetIDs: [first] } });
      const object = await world.condition('amnesiac', 'Stalled', { status: 'True', reason: 'SpecDiffers' });
      expect(summaryOf(object)).to.deep.equal(stalled('SpecDiffers'));
      expect(messageOf(object, 'Ready')).to.equal(
        'Fargate profile "default_amnesiac" differs from the spec, and EKS cannot change these fields of a profile: ' +
          'selectors are "namespace default" in AWS, but "namespace other" in the spec; ' +
          `subnets are ${first}, ${second} in AWS, but ${first} in the spec. ` +
          'Change the spec to match the profile. Or, unless spec.deletionPolicy is Retain, delete this object and create it again: ' +
          'then the controller deletes the profile and creates a new one. Until then the controller leaves the profile as it is.',
      );
      await world.event('amnesiac', 'Warning SpecDiffers');
      await world.patch('amnesiac', { spec: { roleName: 'another' } });
      await world.condition('amnesiac', 'Stalled', { status: 'True', reason: 'SpecDiffers' });
      await triggerReconcile(world, 'amnesiac');
      await eventually(async () => {
        const { status, metadata } = (await world.profile('amnesiac')) ?? expect.fail('the object is gone');
        return status?.['observedGeneration'] === metadata.generation;
      });
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(profileOf('default_amnesiac')).to.deep.equal(before);
      await world.patch('amnesiac', { spec: { selectors: spec?.['selectors'], subnetIDs: null, roleName: null } });
      const restored = await world.ready('amnesiac');
      expect(isProvisioned(restored)).to.equal(true);
      expect(operationsOf(calls)).to.deep.equal([]);
      await remove('amnesiac');
    });

    it('do not prevent the deletion of the profile and role by name', async () => {
      await applyWithCluster('forgotten', { profileName: 'forgotten-profile', roleName: 'forgotten-pods' });
      await world.ready('forgotten');
      await loseStatus('forgotten');
      await remove('forgotten');
      expect(world.awsView.profile('forgotten-profile')).to.equal(undefined);
      expect(world.awsView.role('forgotten-pods')).to.equal(undefined);
    });

    it('are not needed to restore the status', async () => {
      await applyWithCluster('healed');
      const { status } = await world.ready('healed');
      await loseStatus('healed');
      const calls = callsFromNow(world.aws);
      await triggerReconcile(world, 'healed');
      const restored = await world.ready('healed');
      const facts = ({
        conditions: _conditions,
        createRequestedAt: _at,
        tagKeys: _keys,
        ...rest
      }: Record<string, unknown>) => rest;
      expect(facts(restored.status ?? {})).to.deep.equal(facts(status ?? {}));
      expect(operationsOf(calls)).to.deep.equal([]);
      await remove('healed');
    });
  });
});
