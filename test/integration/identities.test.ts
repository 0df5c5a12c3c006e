import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { sideBySide } from '../support/side-by-side.ts';
import {
  CONTROLLER,
  OWN_NAMESPACE,
  ROLE,
  STATIC,
  createStaticIdentity,
  identity,
  identityPath,
  keysSecret,
  userArn,
  trusting,
} from '../world/identities.ts';
import type { Keys } from '../world/identities.ts';
import type { EksClusterOptions, World } from '../world/world.ts';
import { ACCOUNT, AWS_KEY, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

/** Beside the manager's own. */
const OTHER = '210987654321';
const THIRD = '333344445555';
const MANAGER_ARN = `arn:aws:iam::${ACCOUNT}:user/${AWS_KEY}`;
/** In no log, event, condition or metric. */
const MANAGER_SECRET = 'own-secret-access-key-of-the-manager';

describe('identities', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.createNamespace(OWN_NAMESPACE);
    await world.startManager({ verbosity: 10, env: { AWS_SECRET_ACCESS_KEY: MANAGER_SECRET } });
  });
  after(() => world.finish());

  /** A cluster of the name of its one profile, whose control plane names the identity. */
  async function profileOf(name: string, kind: string, identityName: string, options: EksClusterOptions = {}) {
    await world.createEksCluster(name, { identityRef: { kind, name: identityName }, ...options });
    await world.apply(fargateProfile(name, { clusterName: name }));
  }
  const refused = (name: string, reason: string) =>
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

  // A Secret is looked at now and then, a refused AssumeRole is tried ever less often.
  describe('whose change is noticed after a while', () => {
    const alongside = sideBySide();

    alongside('wait for a Secret that is missing or lacks a key, and say so', async () => {
      const keys = world.aws.admin.registerKey({ account: OTHER });
      await world.apply(identity(STATIC, 'keyless', { secretRef: 'keyless' }));
      await profileOf('keyless', STATIC, 'keyless', { account: OTHER });
      await refused('keyless', 'SecretNotFound');
      expect(await messageOf('keyless')).to.equal(
        'Secret capaf-system/keyless of AWSClusterStaticIdentity "keyless" does not exist. Create it there with the keys ' +
          'AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity.',
      );
      expect(await messageOf('keyless', 'Stalled')).to.equal(await messageOf('keyless'));

      await world.apply(keysSecret('keyless', { accessKeyId: keys.accessKeyId }));
      await refused('keyless', 'SecretIncomplete');
      expect(await messageOf('keyless')).to.match(/ has no SecretAccessKey\. Give the Secret the keys /);

      await world.apply(keysSecret('keyless', keys));
      await world.ready('keyless');
      await remove('keyless');
    });

    alongside('wait for the trust of a role, and say who is to be trusted', async () => {
      const arn = `arn:aws:iam::${OTHER}:role/distrustful`;
      await world.apply(identity(ROLE, 'distrustful', { roleARN: arn }));
      await profileOf('distrustful', ROLE, 'distrustful', { account: OTHER });
      await refused('distrustful', 'AssumeRoleDenied');
      expect(await messageOf('distrustful')).to.equal(
        `Role ${arn} cannot be assumed with the credentials of the manager itself: User: ${MANAGER_ARN} is not authorized ` +
          `to perform: sts:AssumeRole on resource: ${arn} (STS AssumeRole: AccessDenied). Let the trust policy of the role ` +
          'trust these credentials, with the external ID if it asks for one, and let their own policy allow ' +
          'sts:AssumeRole; it is tried again by itself.',
      );
      world.aws.admin.putRole({ name: 'distrustful', account: OTHER, trustPolicy: trusting(MANAGER_ARN) });
      await world.ready('distrustful', { timeoutMs: 45_000 });
      await remove('distrustful');
    });

    alongside(
      'work through a chain of three roles, each in an account of its own, and with other keys at its root',
      async () => {
        await createStaticIdentity(world, 'root', ACCOUNT);
        const first = world.aws.admin.putRole({ name: 'first', trustPolicy: trusting(userArn(ACCOUNT, 'root')) });
        const second = world.aws.admin.putRole({ name: 'second', account: OTHER, trustPolicy: trusting(first.arn) });
        const third = world.aws.admin.putRole({ name: 'third', account: THIRD, trustPolicy: trusting(second.arn) });
        await world.apply(
          // More than AWS grants to a session of a session.
          identity(ROLE, 'third', {
            roleARN: third.arn,
            durationSeconds: 7_200,
            sourceIdentityRef: { kind: ROLE, name: 'second' },
          }),
          identity(ROLE, 'second', { roleARN: second.arn, sourceIdentityRef: { kind: ROLE, name: 'first' } }),
          identity(ROLE, 'first', { roleARN: first.arn, sourceIdentityRef: { kind: STATIC, name: 'root' } }),
        );
        await profileOf('chained', ROLE, 'third', { account: THIRD });
        const { status } = await world.ready('chained');
        expect(status).to.deep.include({ account: THIRD, identityRef: { kind: ROLE, name: 'third' } });
        expect([first, second, third].map(({ arn }) => sessionsOf(arn).length)).to.deep.equal([1, 1, 1]);

        // Whatever the chain rests on: with other keys at its root, all sessions are asked for anew.
        await world.apply(keysSecret('root', world.aws.admin.registerKey({ account: ACCOUNT, userName: 'root' })));
        await eventually(() => sessionsOf(third.arn).length === 2, { timeoutMs: 30_000, what: 'a new session' });
        await remove('chained');
      },
    );

    alongside('change nothing in another account where they come back with keys of that', async () => {
      await createStaticIdentity(world, 'strayed', OTHER);
      await profileOf('strayed', STATIC, 'strayed', { account: OTHER });
      await world.ready('strayed');
      const elsewhere = world.aws.admin.registerKey({ account: THIRD });
      const since = world.aws.log.read().at(-1)?.seq ?? 0;
      await world.apply(keysSecret('strayed', elsewhere));
      await refused('strayed', 'WrongAccount');
      const { accessKeyId } = elsewhere;
      const calls = world.aws.log.read({ afterSeq: since, accessKeyId }).map(({ operation }) => operation);
      expect([...new Set(calls)]).to.deep.equal(['GetCallerIdentity']);
      await world.apply(keysSecret('strayed', world.aws.admin.registerKey({ account: OTHER })));
      await world.ready('strayed');
      await remove('strayed');
    });
  });

  describe('with static keys', () => {
    it('work in the account of the keys, and there alone', async () => {
      await createStaticIdentity(world, 'static', OTHER);
      await profileOf('static', STATIC, 'static', { account: OTHER });
      const { status } = await world.ready('static');
      expect(status).to.deep.include({
        account: OTHER,
        identityRef: { kind: STATIC, name: 'static' },
        podExecutionRoleARN: `arn:aws:iam::${OTHER}:role/static-default_static_fargate`,
      });
      expect(profileIn(OTHER, 'static')).not.to.equal(undefined);
      await remove('static');
      expect(profileIn(OTHER, 'static')).to.equal(undefined);
    });

    it('go on with new keys in the Secret, without a restart, also once AWS refuses the former ones', async () => {
      const former = await createStaticIdentity(world, 'rotated', OTHER);
      await profileOf('rotated', STATIC, 'rotated', { account: OTHER });
      await world.ready('rotated');
      const next = world.aws.admin.registerKey({ account: OTHER });
      world.aws.admin.removeKey(former);
      await world.patch('rotated', { spec: { additionalTags: { rotation: 'begun' } } });
      await refused('rotated', 'CredentialsInvalid');
      await world.apply(keysSecret('rotated', next));
      await world.condition('rotated', 'CredentialsReady', { status: 'True' });
      await eventually(() => profileIn(OTHER, 'rotated')?.tags['rotation'] === 'begun');
      await remove('rotated');
    });
  });

  describe('with a role', () => {
    it('assume it as it says: session name, external id, inline policy and policies', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'guest',
        account: OTHER,
        trustPolicy: trusting(MANAGER_ARN, 'shibboleth'),
      });
      const inlinePolicy = '{"Version":"2012-10-17","Statement":[]}';
      await world.apply(
        identity(ROLE, 'guest', {
          roleARN: arn,
          sessionName: 'from-tests',
          durationSeconds: 900,
          externalID: 'shibboleth',
          inlinePolicy,
          policyARNs: ['arn:aws:iam::aws:policy/AdministratorAccess'],
        }),
      );
      await profileOf('guest', ROLE, 'guest', { account: OTHER });
      const { status } = await world.ready('guest');
      expect(status).to.deep.include({ account: OTHER, identityRef: { kind: ROLE, name: 'guest' } });
      const sessions = sessionsOf(arn);
      expect(sessions.map((session) => session.arn)).to.deep.equal([
        `arn:aws:sts::${OTHER}:assumed-role/guest/from-tests`,
      ]);
      expect(sessions[0]?.session).to.deep.include({
        inlinePolicy,
        policyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'],
      });
      await remove('guest');
      expect(sessionsOf(arn), 'sessions after all').to.have.length(1);
    });

    it('share one session among all objects and regions', async () => {
      const { arn } = world.aws.admin.putRole({ name: 'shared', account: OTHER, trustPolicy: trusting(MANAGER_ARN) });
      await world.apply(identity(ROLE, 'shared', { roleARN: arn }));
      await Promise.all([
        profileOf('here', ROLE, 'shared', { account: OTHER }),
        profileOf('there', ROLE, 'shared', { account: OTHER, region: 'eu-west-1' }),
      ]);
      await Promise.all([world.ready('here'), world.ready('there')]);
      expect(profileIn(OTHER, 'here')?.region).to.equal('us-east-1');
      expect(profileIn(OTHER, 'there')?.region).to.equal('eu-west-1');
      expect(sessionsOf(arn).map((session) => session.arn)).to.deep.equal([
        `arn:aws:sts::${OTHER}:assumed-role/shared/capaf-shared`,
      ]);
      await remove('here', 'there');
    });

    it('go on at once when the identity is given the external id that was missing', async () => {
      const { arn } = world.aws.admin.putRole({
        name: 'locked',
        account: OTHER,
        trustPolicy: trusting(MANAGER_ARN, 'key'),
      });
      await world.apply(identity(ROLE, 'locked', { roleARN: arn }));
      await profileOf('locked', ROLE, 'locked', { account: OTHER });
      await refused('locked', 'AssumeRoleDenied');
      await world.apply(identity(ROLE, 'locked', { roleARN: arn, externalID: 'key' }));
      await world.condition('locked', 'CredentialsReady', { status: 'True' });
      await world.ready('locked');
      await remove('locked');
    });

    it('are renewed when AWS takes their session for expired', async () => {
      const { arn } = world.aws.admin.putRole({ name: 'brief', account: OTHER, trustPolicy: trusting(MANAGER_ARN) });
      await world.apply(identity(ROLE, 'brief', { roleARN: arn }));
      await profileOf('brief', ROLE, 'brief', { account: OTHER });
      await world.ready('brief');
      world.aws.admin.expireSessions();
      await remove('brief');
      expect(sessionsOf(arn)).to.have.length(2);
    });

    it('that name each other are told, and not followed', async () => {
      const arn = `arn:aws:iam::${OTHER}:role/any`;
      const from = (name: string) => ({ roleARN: arn, sourceIdentityRef: { kind: ROLE, name } });
      await world.apply(identity(ROLE, 'snake', from('tail')), identity(ROLE, 'tail', from('snake')));
      await profileOf('loop', ROLE, 'snake', { account: OTHER });
      await refused('loop', 'IdentityLoop');
      expect(await messageOf('loop')).to.equal(
        'The source identities lead in a circle: AWSClusterRoleIdentity "snake", then AWSClusterRoleIdentity "tail", then ' +
          'AWSClusterRoleIdentity "snake". Let one of them have another spec.sourceIdentityRef.',
      );
      const role = world.aws.admin.putRole({ name: 'any', account: OTHER, trustPolicy: trusting(MANAGER_ARN) });
      await world.apply(
        identity(ROLE, 'tail', { roleARN: role.arn, sourceIdentityRef: { kind: CONTROLLER, name: 'default' } }),
      );
      await refused('loop', 'IdentityNotFound');
      expect(await messageOf('loop')).to.match(
        /^spec\.sourceIdentityRef of AWSClusterRoleIdentity "tail" names AWSClusterControllerIdentity "default", which does not exist\./,
      );
      await world.controlPlane.api.delete(identityPath(ROLE, 'tail'));
      await world.apply(identity(ROLE, 'snake', { roleARN: role.arn }));
      await world.ready('loop');
      await remove('loop');
    });
  });

  describe('of a namespace', () => {
    it('serve those that they allow, by name or by label, and say so where they do not', async () => {
      await world.createNamespace('team-a');
      await createStaticIdentity(world, 'selective', OTHER);
      const allowing = (allowedNamespaces: object | null) =>
        world.apply(identity(STATIC, 'selective', { secretRef: 'selective', allowedNamespaces }));
      await allowing({ selector: { matchLabels: { team: 'a' } } });
      const where = { namespace: 'team-a' };
      await world.createEksCluster('teams', {
        ...where,
        account: OTHER,
        identityRef: { kind: STATIC, name: 'selective' },
      });
      await world.apply(fargateProfile('teams', { clusterName: 'teams' }, where));
      const refusal = { status: 'False', reason: 'IdentityNotAllowed' };
      const object = await world.condition('teams', 'CredentialsReady', refusal, where);
      expect(object.status?.conditions?.find(({ type }) => type === 'CredentialsReady')?.message).to.equal(
        'AWSClusterStaticIdentity "selective" may not be used for objects of namespace "team-a": its ' +
          'spec.allowedNamespaces does not name or select it. Add the namespace to its spec.allowedNamespaces, or name ' +
          'another identity.',
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

    it('are needed of each identity in a chain', async () => {
      const { arn } = world.aws.admin.putRole({ name: 'inner', account: OTHER, trustPolicy: trusting(MANAGER_ARN) });
      await world.apply(
        identity(CONTROLLER, 'default', { allowedNamespaces: { list: ['elsewhere'] } }),
        identity(ROLE, 'inner', { roleARN: arn, sourceIdentityRef: { kind: CONTROLLER, name: 'default' } }),
      );
      await profileOf('inner', ROLE, 'inner', { account: OTHER });
      await refused('inner', 'IdentityNotAllowed');
      expect(await messageOf('inner')).to.match(/^AWSClusterControllerIdentity "default" may not be used /);
      // As Cluster API Provider AWS makes it.
      await world.apply(identity(CONTROLLER, 'default', { allowedNamespaces: { list: null, selector: {} } }));
      await world.ready('inner');
      await remove('inner');
    });
  });

  describe('that are lost', () => {
    it('hold up a deletion, which says so and goes on when they are back', async () => {
      await createStaticIdentity(world, 'lost', OTHER);
      await profileOf('lost', STATIC, 'lost', { account: OTHER });
      await world.ready('lost');
      await world.controlPlane.api.delete(identityPath(STATIC, 'lost'));
      await refused('lost', 'IdentityNotFound');
      await world.delete('lost');
      await world.condition('lost', 'Deleting', { status: 'True', reason: 'IdentityNotFound' });
      const message =
        'spec.identityRef of the control plane names AWSClusterStaticIdentity "lost", which does not exist. Create it, or ' +
        'correct the reference to it; or set spec.deletionPolicy to Retain to let the object go and leave in AWS what is there.';
      expect(await messageOf('lost', 'Deleting')).to.equal(message);
      expect(await messageOf('lost', 'Stalled')).to.equal(message);
      expect(profileIn(OTHER, 'lost')?.status).to.equal('ACTIVE');
      await world.apply(identity(STATIC, 'lost', { secretRef: 'lost' }));
      await world.gone('lost');
      expect(profileIn(OTHER, 'lost')).to.equal(undefined);
    });

    it('are replaced by the one that the control plane names now', async () => {
      const former = await createStaticIdentity(world, 'former', OTHER);
      await createStaticIdentity(world, 'latter', OTHER);
      await profileOf('replaced', STATIC, 'former', { account: OTHER });
      await world.ready('replaced');
      world.aws.admin.removeKey(former);
      await world.delete('replaced');
      await world.condition('replaced', 'Deleting', { status: 'True', reason: 'CredentialsInvalid' });
      const identityRef = { kind: STATIC, name: 'latter' };
      await world.controlPlane.api.patch(controlPlanePath('replaced'), { spec: { identityRef } });
      await world.gone('replaced');
      expect(profileIn(OTHER, 'replaced')).to.equal(undefined);
    });
  });

  it('are kept secret: nothing of them is in a log, an event, a condition or a metric', async () => {
    const keys: Keys = await createStaticIdentity(world, 'secretive', OTHER);
    const { arn } = world.aws.admin.putRole({
      name: 'secretive',
      account: OTHER,
      trustPolicy: trusting(userArn(OTHER, 'secretive')),
    });
    await world.apply(
      identity(ROLE, 'secretive', { roleARN: arn, sourceIdentityRef: { kind: STATIC, name: 'secretive' } }),
    );
    await profileOf('secretive', ROLE, 'secretive', { account: OTHER });
    await world.ready('secretive');
    const [session] = sessionsOf(arn);
    const token = session?.session?.token ?? '';
    expect(token).to.have.length.above(40);
    // Also what AWS and the API server refuse.
    world.aws.admin.removeKey(keys);
    world.aws.admin.expireSessions();
    await world.patch('secretive', { spec: { additionalTags: { look: 'again' } } });
    await refused('secretive', 'CredentialsInvalid');

    const told = [
      world.manager.log(),
      await (await fetch(world.manager.metricsUrl)).text(),
      JSON.stringify(await world.profiles()),
      JSON.stringify(await world.controlPlane.api.list('/api/v1/events')),
    ].join('\n');
    expect(told).to.include('AssumeRole').and.include('"secretive"');
    for (const secret of [MANAGER_SECRET, keys.secretAccessKey, token])
      for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
        expect(told.includes(form), `a secret of ${secret.length} letters`).to.equal(false);

    await world.apply(keysSecret('secretive', world.aws.admin.registerKey({ account: OTHER, userName: 'secretive' })));
    await world.ready('secretive');
    await remove('secretive');
  });
});
