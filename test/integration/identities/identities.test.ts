import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import {
  CONTROLLER_IDENTITY,
  ROLE_IDENTITY,
  STATIC_IDENTITY,
  createStaticIdentity,
  identity,
  identityPath,
  keysSecret,
  userArn,
  trustPolicyFor,
} from '../../world/aws/identities.ts';
import type { AccessKeyPair } from '../../world/aws/identities.ts';
import type { EksClusterOptions, World } from '../../world/world.ts';
import { ACCOUNT, AWS_KEY, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';

/** AWS accounts other than the account of the manager. */
const OTHER = '210987654321';
const THIRD = '333344445555';
const MANAGER_ARN = `arn:aws:iam::${ACCOUNT}:user/${AWS_KEY}`;
/** The secret access key of the manager. It must not appear in a log, an Event, a condition or a metric. */
const MANAGER_SECRET = 'own-secret-access-key-of-the-manager';

describe('identities', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager({ verbosity: 10, env: { AWS_SECRET_ACCESS_KEY: MANAGER_SECRET } });
  });
  after(() => world.finish());

  /**
   * Creates an EKS cluster whose AWSManagedControlPlane refers to the given identity, and an AWSFargateProfile with the
   * name of the cluster.
   */
  async function profileOf(name: string, kind: string, identityName: string, options: EksClusterOptions = {}) {
    await world.createEksCluster(name, { identityRef: { kind, name: identityName }, ...options });
    await world.apply(fargateProfile(name, { clusterName: name }));
  }
  const waitForRefusal = (name: string, reason: string) =>
    world.condition(name, 'CredentialsReady', { status: 'False', reason });
  const messageOf = async (name: string, type = 'CredentialsReady') =>
    (await world.profile(name))?.status?.conditions?.find((condition) => condition.type === type)?.message;
  async function remove(...names: readonly string[]): Promise<void> {
    for (const name of names) await world.delete(name);
    for (const name of names) await world.gone(name);
  }
  const profileIn = (account: string, name: string) =>
    world.aws.admin.profiles().find((each) => each.account === account && each.name === `default_${name}`);
  const sessionsOf = (roleArn: string) =>
    world.aws.admin.principals().filter(({ session }) => session?.roleArn === roleArn);

  // The controller polls a missing Secret, and retries a refused AssumeRole call with increasing delays. The tests in
  // this `describe` wait long for the polls and retries, so they run at the same time.
  describe('whose correction is noticed after a delay', () => {
    const alongside = sideBySide();

    alongside('with a Secret that is missing or incomplete report that until the Secret is complete', async () => {
      const keys = world.aws.admin.registerKey({ account: OTHER });
      await world.apply(identity(STATIC_IDENTITY, 'keyless', { secretRef: 'keyless' }));
      await profileOf('keyless', STATIC_IDENTITY, 'keyless', { account: OTHER });
      await waitForRefusal('keyless', 'SecretNotFound');
      expect(await messageOf('keyless')).to.equal(
        'Secret capaf-system/keyless of AWSClusterStaticIdentity "keyless" does not exist. Create Secret capaf-system/keyless with the ' +
          'keys AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity. The controller then continues on its own.',
      );
      expect(await messageOf('keyless', 'Reconciling')).to.equal(await messageOf('keyless'));

      await world.apply(keysSecret('keyless', { accessKeyId: keys.accessKeyId }));
      await waitForRefusal('keyless', 'SecretIncomplete');
      expect(await messageOf('keyless')).to.match(/ has no SecretAccessKey\. Add the missing keys to the Secret; /);

      await world.apply(keysSecret('keyless', keys));
      await world.ready('keyless');
      await remove('keyless');
    });

    alongside(
      'with a role that does not trust the manager report the principal to trust until the role trusts it',
      async () => {
        const arn = `arn:aws:iam::${OTHER}:role/distrustful`;
        await world.apply(identity(ROLE_IDENTITY, 'distrustful', { roleARN: arn }));
        await profileOf('distrustful', ROLE_IDENTITY, 'distrustful', { account: OTHER });
        await waitForRefusal('distrustful', 'AssumeRoleDenied');
        expect(await messageOf('distrustful')).to.equal(
          `The credentials of the manager itself cannot assume role ${arn}. AWS says: User: ${MANAGER_ARN} is not authorized ` +
            `to perform: sts:AssumeRole on resource: ${arn} (STS AssumeRole: AccessDenied). Allow these credentials to call ` +
            'sts:AssumeRole in their own IAM policy and in the trust policy of the role. If the trust policy requires an ' +
            'external ID, set spec.externalID of the AWSClusterRoleIdentity with this roleARN. The controller retries on its own.',
        );
        world.aws.admin.putRole({ name: 'distrustful', account: OTHER, trustPolicy: trustPolicyFor(MANAGER_ARN) });
        await world.ready('distrustful');
        await remove('distrustful');
      },
    );

    alongside('with a chain of three roles in three accounts work, also after new keys at the root', async () => {
      await createStaticIdentity(world, 'root', ACCOUNT);
      const first = world.aws.admin.putRole({ name: 'first', trustPolicy: trustPolicyFor(userArn(ACCOUNT, 'root')) });
      const second = world.aws.admin.putRole({
        name: 'second',
        account: OTHER,
        trustPolicy: trustPolicyFor(first.arn),
      });
      const third = world.aws.admin.putRole({ name: 'third', account: THIRD, trustPolicy: trustPolicyFor(second.arn) });
      await world.apply(
        // If a role assumes another role, AWS allows a session of at most one hour for the second role. The
        // durationSeconds of 7,200 is longer, and the controller must still get a session.
        identity(ROLE_IDENTITY, 'third', {
          roleARN: third.arn,
          durationSeconds: 7_200,
          sourceIdentityRef: { kind: ROLE_IDENTITY, name: 'second' },
        }),
        identity(ROLE_IDENTITY, 'second', {
          roleARN: second.arn,
          sourceIdentityRef: { kind: ROLE_IDENTITY, name: 'first' },
        }),
        identity(ROLE_IDENTITY, 'first', {
          roleARN: first.arn,
          sourceIdentityRef: { kind: STATIC_IDENTITY, name: 'root' },
        }),
      );
      await profileOf('chained', ROLE_IDENTITY, 'third', { account: THIRD });
      const { status } = await world.ready('chained');
      expect(status).to.deep.include({ account: THIRD, identityRef: { kind: ROLE_IDENTITY, name: 'third' } });
      expect([first, second, third].map(({ arn }) => sessionsOf(arn).length)).to.deep.equal([1, 1, 1]);

      // The controller assumes the role `first` with the keys of the AWSClusterStaticIdentity `root`, and from there
      // the roles `second` and `third` in turn. So new keys in the Secret of `root` make it renew all three sessions.
      await world.apply(keysSecret('root', world.aws.admin.registerKey({ account: ACCOUNT, userName: 'root' })));
      await eventually(() => sessionsOf(third.arn).length === 2);
      await remove('chained');
    });

    alongside('with new keys of another account change nothing there', async () => {
      await createStaticIdentity(world, 'strayed', OTHER);
      await profileOf('strayed', STATIC_IDENTITY, 'strayed', { account: OTHER });
      await world.ready('strayed');
      const elsewhere = world.aws.admin.registerKey({ account: THIRD });
      const since = world.aws.log.read().at(-1)?.seq ?? 0;
      await world.apply(keysSecret('strayed', elsewhere));
      await waitForRefusal('strayed', 'WrongAccount');
      const { accessKeyId } = elsewhere;
      const calls = world.aws.log.read({ afterSeq: since, accessKeyId }).map(({ operation }) => operation);
      expect([...new Set(calls)]).to.deep.equal(['GetCallerIdentity']);
      await world.apply(keysSecret('strayed', world.aws.admin.registerKey({ account: OTHER })));
      await world.ready('strayed');
      await remove('strayed');
    });
  });

  describe('with static keys', () => {
    it('work in the account of the keys alone', async () => {
      await createStaticIdentity(world, 'static', OTHER);
      await profileOf('static', STATIC_IDENTITY, 'static', { account: OTHER });
      const { status } = await world.ready('static');
      expect(status).to.deep.include({
        account: OTHER,
        identityRef: { kind: STATIC_IDENTITY, name: 'static' },
        podExecutionRoleARN: `arn:aws:iam::${OTHER}:role/static-default_static_fargate`,
      });
      expect(profileIn(OTHER, 'static')).not.to.equal(undefined);
      await remove('static');
      expect(profileIn(OTHER, 'static')).to.equal(undefined);
    });

    it('use new keys of the Secret without a restart, also when AWS has refused the former keys', async () => {
      const former = await createStaticIdentity(world, 'rotated', OTHER);
      await profileOf('rotated', STATIC_IDENTITY, 'rotated', { account: OTHER });
      await world.ready('rotated');
      const next = world.aws.admin.registerKey({ account: OTHER });
      world.aws.admin.removeKey(former);
      await world.patch('rotated', { spec: { additionalTags: { rotation: 'begun' } } });
      await waitForRefusal('rotated', 'CredentialsInvalid');
      await world.apply(keysSecret('rotated', next));
      await world.condition('rotated', 'CredentialsReady', { status: 'True' });
      await eventually(() => profileIn(OTHER, 'rotated')?.tags['rotation'] === 'begun');
      await remove('rotated');
    });
  });

  describe('with a role', () => {
    it('assume it with its session name, external ID, inline policy and policy ARNs', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'guest',
        account: OTHER,
        trustPolicy: trustPolicyFor(MANAGER_ARN, 'shibboleth'),
      });
      const inlinePolicy = '{"Version":"2012-10-17","Statement":[]}';
      await world.apply(
        identity(ROLE_IDENTITY, 'guest', {
          roleARN: arn,
          sessionName: 'from-tests',
          durationSeconds: 900,
          externalID: 'shibboleth',
          inlinePolicy,
          policyARNs: ['arn:aws:iam::aws:policy/AdministratorAccess'],
        }),
      );
      await profileOf('guest', ROLE_IDENTITY, 'guest', { account: OTHER });
      const { status } = await world.ready('guest');
      expect(status).to.deep.include({ account: OTHER, identityRef: { kind: ROLE_IDENTITY, name: 'guest' } });
      const sessions = sessionsOf(arn);
      expect(sessions.map((session) => session.arn)).to.deep.equal([
        `arn:aws:sts::${OTHER}:assumed-role/guest/from-tests`,
      ]);
      expect(sessions[0]?.session).to.deep.include({
        inlinePolicy,
        policyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'],
      });
      await remove('guest');
      expect(sessionsOf(arn), 'all sessions').to.have.length(1);
    });

    it('share one session between all objects and regions', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'shared',
        account: OTHER,
        trustPolicy: trustPolicyFor(MANAGER_ARN),
      });
      await world.apply(identity(ROLE_IDENTITY, 'shared', { roleARN: arn }));
      await Promise.all([
        profileOf('here', ROLE_IDENTITY, 'shared', { account: OTHER }),
        profileOf('there', ROLE_IDENTITY, 'shared', { account: OTHER, region: 'eu-west-1' }),
      ]);
      await Promise.all([world.ready('here'), world.ready('there')]);
      expect(profileIn(OTHER, 'here')?.region).to.equal('us-east-1');
      expect(profileIn(OTHER, 'there')?.region).to.equal('eu-west-1');
      expect(sessionsOf(arn).map((session) => session.arn)).to.deep.equal([
        `arn:aws:sts::${OTHER}:assumed-role/shared/capaf-shared`,
      ]);
      await remove('here', 'there');
    });

    it('work at once when the missing external ID is added', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'locked',
        account: OTHER,
        trustPolicy: trustPolicyFor(MANAGER_ARN, 'key'),
      });
      await world.apply(identity(ROLE_IDENTITY, 'locked', { roleARN: arn }));
      await profileOf('locked', ROLE_IDENTITY, 'locked', { account: OTHER });
      await waitForRefusal('locked', 'AssumeRoleDenied');
      await world.apply(identity(ROLE_IDENTITY, 'locked', { roleARN: arn, externalID: 'key' }));
      await world.condition('locked', 'CredentialsReady', { status: 'True' });
      await world.ready('locked');
      await remove('locked');
    });

    it('get a new session when AWS reports their session as expired', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'brief',
        account: OTHER,
        trustPolicy: trustPolicyFor(MANAGER_ARN),
      });
      await world.apply(identity(ROLE_IDENTITY, 'brief', { roleARN: arn }));
      await profileOf('brief', ROLE_IDENTITY, 'brief', { account: OTHER });
      await world.ready('brief');
      world.aws.admin.expireSessions();
      await remove('brief');
      expect(sessionsOf(arn)).to.have.length(2);
    });

    it('that form a loop of sources are reported and not assumed', async () => {
      const arn = `arn:aws:iam::${OTHER}:role/any`;
      const from = (name: string) => ({ roleARN: arn, sourceIdentityRef: { kind: ROLE_IDENTITY, name } });
      await world.apply(identity(ROLE_IDENTITY, 'snake', from('tail')), identity(ROLE_IDENTITY, 'tail', from('snake')));
      await profileOf('loop', ROLE_IDENTITY, 'snake', { account: OTHER });
      await waitForRefusal('loop', 'IdentityLoop');
      expect(await messageOf('loop')).to.equal(
        'The source identities form a loop: AWSClusterRoleIdentity "snake", then AWSClusterRoleIdentity "tail", then ' +
          'AWSClusterRoleIdentity "snake". Change spec.sourceIdentityRef of one of these identities, so that it names an identity outside the loop. The controller then continues on its own.',
      );
      // The manager has created nothing in AWS for this object, so the deletion of the object needs no credentials.
      await world.apply(fargateProfile('never-begun', { clusterName: 'loop' }));
      await waitForRefusal('never-begun', 'IdentityLoop');
      await remove('never-begun');

      const role = world.aws.admin.putRole({ name: 'any', account: OTHER, trustPolicy: trustPolicyFor(MANAGER_ARN) });
      await world.apply(
        identity(ROLE_IDENTITY, 'tail', {
          roleARN: role.arn,
          sourceIdentityRef: { kind: CONTROLLER_IDENTITY, name: 'default' },
        }),
      );
      await waitForRefusal('loop', 'IdentityNotFound');
      expect(await messageOf('loop')).to.match(
        /^spec\.sourceIdentityRef of AWSClusterRoleIdentity "tail" names AWSClusterControllerIdentity "default", which does not exist\./,
      );
      await world.controlPlane.api.delete(identityPath(ROLE_IDENTITY, 'tail'));
      await world.apply(identity(ROLE_IDENTITY, 'snake', { roleARN: role.arn }));
      await world.ready('loop');
      await remove('loop');
    });
  });

  describe('with allowedNamespaces', () => {
    it('serve the namespaces of their list or selector, and report the refusal in other namespaces', async () => {
      await world.createNamespace('team-a');
      await createStaticIdentity(world, 'selective', OTHER);
      const allowing = (allowedNamespaces: object | null) =>
        world.apply(identity(STATIC_IDENTITY, 'selective', { secretRef: 'selective', allowedNamespaces }));
      await allowing({ selector: { matchLabels: { team: 'a' } } });
      const where = { namespace: 'team-a' };
      await world.createEksCluster('teams', {
        ...where,
        account: OTHER,
        identityRef: { kind: STATIC_IDENTITY, name: 'selective' },
      });
      await world.apply(fargateProfile('teams', { clusterName: 'teams' }, where));
      const refusal = { status: 'False', reason: 'IdentityNotAllowed' };
      const object = await world.condition('teams', 'CredentialsReady', refusal, where);
      expect(object.status?.conditions?.find(({ type }) => type === 'CredentialsReady')?.message).to.equal(
        'AWSClusterStaticIdentity "selective" does not allow namespace "team-a": spec.allowedNamespaces of the identity ' +
          'does not list or select this namespace. Allow the namespace in spec.allowedNamespaces of the identity, or use ' +
          'another identity. The controller then continues on its own.',
      );
      expect(profileIn(OTHER, 'teams')).to.equal(undefined);

      await world.controlPlane.api.patch('/api/v1/namespaces/team-a', { metadata: { labels: { team: 'a' } } });
      await world.condition('teams', 'CredentialsReady', { status: 'True' }, where);
      await world.ready('teams', where);

      await allowing({ list: ['default'] });
      await world.condition('teams', 'CredentialsReady', refusal, where);
      await allowing({ list: ['default', 'team-a'] });
      await world.ready('teams', where);
      await world.delete('teams', 'team-a');
      await world.gone('teams', where);
    });

    it('must allow the namespace in each identity of a chain, and default also where no identity is named', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'inner',
        account: OTHER,
        trustPolicy: trustPolicyFor(MANAGER_ARN),
      });
      await world.apply(
        identity(CONTROLLER_IDENTITY, 'default', { allowedNamespaces: { list: ['elsewhere'] } }),
        identity(ROLE_IDENTITY, 'inner', {
          roleARN: arn,
          sourceIdentityRef: { kind: CONTROLLER_IDENTITY, name: 'default' },
        }),
      );
      await profileOf('inner', ROLE_IDENTITY, 'inner', { account: OTHER });
      await world.createEksCluster('bare');
      await world.apply(fargateProfile('bare', { clusterName: 'bare' }));
      for (const name of ['inner', 'bare']) {
        await waitForRefusal(name, 'IdentityNotAllowed');
        expect(await messageOf(name)).to.match(
          /^AWSClusterControllerIdentity "default" does not allow namespace "default": /,
        );
      }
      // Cluster API Provider AWS creates the AWSClusterControllerIdentity `default` with the spec.allowedNamespaces of
      // this test: a null list and an empty selector.
      await world.apply(identity(CONTROLLER_IDENTITY, 'default', { allowedNamespaces: { list: null, selector: {} } }));
      await world.ready('inner');
      await world.ready('bare');
      await remove('inner', 'bare');
    });
  });

  describe('that are deleted or invalid', () => {
    it('hold up a deletion and report that until they are restored', async () => {
      await createStaticIdentity(world, 'lost', OTHER);
      await profileOf('lost', STATIC_IDENTITY, 'lost', { account: OTHER });
      await world.ready('lost');
      await world.controlPlane.api.delete(identityPath(STATIC_IDENTITY, 'lost'));
      await waitForRefusal('lost', 'IdentityNotFound');
      await world.delete('lost');
      await world.condition('lost', 'Deleting', { status: 'True', reason: 'IdentityNotFound' });
      const message =
        'spec.identityRef of the control plane names AWSClusterStaticIdentity "lost", which does not exist. Create ' +
        'AWSClusterStaticIdentity "lost", or correct the reference to it. The controller then continues on its own. Or set spec.deletionPolicy ' +
        'to Retain: then the deletion of this object ends, and its profile and role stay in AWS.';
      expect(await messageOf('lost', 'Deleting')).to.equal(message);
      expect(await messageOf('lost', 'Reconciling')).to.equal(message);
      expect(profileIn(OTHER, 'lost')?.status).to.equal('ACTIVE');
      await world.apply(identity(STATIC_IDENTITY, 'lost', { secretRef: 'lost' }));
      await world.gone('lost');
      expect(profileIn(OTHER, 'lost')).to.equal(undefined);
    });

    it('can be replaced by another spec.identityRef of the control plane', async () => {
      const former = await createStaticIdentity(world, 'former', OTHER);
      await createStaticIdentity(world, 'latter', OTHER);
      await profileOf('replaced', STATIC_IDENTITY, 'former', { account: OTHER });
      await world.ready('replaced');
      world.aws.admin.removeKey(former);
      await world.delete('replaced');
      await world.condition('replaced', 'Deleting', { status: 'True', reason: 'CredentialsInvalid' });
      const identityRef = { kind: STATIC_IDENTITY, name: 'latter' };
      await world.controlPlane.api.patch(controlPlanePath('replaced'), { spec: { identityRef } });
      await world.gone('replaced');
      expect(profileIn(OTHER, 'replaced')).to.equal(undefined);
    });
  });

  it('do not leak secrets into logs, events, conditions or metrics', async () => {
    const keys: AccessKeyPair = await createStaticIdentity(world, 'secretive', OTHER);
    const { arn } = world.aws.admin.putRole({
      name: 'secretive',
      account: OTHER,
      trustPolicy: trustPolicyFor(userArn(OTHER, 'secretive')),
    });
    await world.apply(
      identity(ROLE_IDENTITY, 'secretive', {
        roleARN: arn,
        sourceIdentityRef: { kind: STATIC_IDENTITY, name: 'secretive' },
      }),
    );
    await profileOf('secretive', ROLE_IDENTITY, 'secretive', { account: OTHER });
    await world.ready('secretive');
    const [session] = sessionsOf(arn);
    const token = session?.session?.token ?? '';
    expect(token).to.have.length.above(40);
    // AWS refuses calls with a removed key or an expired session. The test causes such refusals, to check that their
    // messages contain no secret either.
    world.aws.admin.removeKey(keys);
    world.aws.admin.expireSessions();
    await world.patch('secretive', { spec: { additionalTags: { look: 'again' } } });
    await waitForRefusal('secretive', 'CredentialsInvalid');

    const output = [
      world.manager.log(),
      await (await fetch(world.manager.metricsUrl)).text(),
      JSON.stringify(await world.profiles()),
      JSON.stringify(await world.controlPlane.api.list('/api/v1/events')),
    ].join('\n');
    expect(output).to.include('AssumeRole').and.include('"secretive"');
    for (const secret of [MANAGER_SECRET, keys.secretAccessKey, token])
      for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
        expect(output.includes(form), `a secret of ${secret.length} characters`).to.equal(false);

    await world.apply(keysSecret('secretive', world.aws.admin.registerKey({ account: OTHER, userName: 'secretive' })));
    await world.ready('secretive');
    await remove('secretive');
  });
});
