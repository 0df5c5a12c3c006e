import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import * as O from 'fp-ts/lib/Option.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { Registry } from 'prom-client';
import { ClusterName, EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { CredentialPool } from '../../pkg/cloud/credentials.ts';
import { resolveEndpoints } from '../../pkg/cloud/endpoints.ts';
import * as errors from '../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import { newLimiter } from '../../pkg/cloud/limiter.ts';
import { awsMetrics } from '../../pkg/cloud/metrics.ts';
import { newSessions } from '../../pkg/cloud/sessions.ts';
import type { AwsTransport } from '../../pkg/cloud/transport.ts';
import type { Call, NewFargateProfile, NewRole, Session, SessionRequest, Sessions } from '../../pkg/cloud/types.ts';
import { undiciTransport } from '../../pkg/cloud/undici-transport.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { systemClock, systemRandom } from '../../pkg/env/system.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { clusterArn, podExecutionPolicyArn, roleArn } from '../../pkg/fargate/arns.ts';
import { foldCase, profileTags, roleTags, tagDrift } from '../../pkg/fargate/tags.ts';
import { sameTrust, trustPolicy, trusts } from '../../pkg/fargate/trust.ts';
import { roleNameFor } from '../../pkg/fargate/names.ts';
import { Emulator } from '../aws/emulator.ts';
import type { FaultKind } from '../aws/faults.ts';
import { leftovers } from '../aws/expect-nothing-left.ts';
import { EmulatorRequestHandler } from '../aws/request-handler.ts';
import { startServer } from '../aws/server.ts';
import { eventually } from '../support/eventually.ts';

const region = 'eu-west-1';
const cluster = EksClusterName.of('default_prod');
const clusterName = ClusterName.of('prod');
const name = ProfileName.of('default_web');
const sources = { clusterName, object: { team: 'a' }, controlPlane: {} };

/** Ten seconds of deadline are half a second here, and nothing else is hurried. */
const hurried: Clock = {
  ...systemClock,
  after: (delay, fire) => systemClock.after(delay >= 10_000 ? 500 : delay, fire),
};

async function answer<A>(call: Call<A>): Promise<A> {
  const outcome = await call();
  if (E.isLeft(outcome)) throw new Error(`${outcome.left.operation}: ${outcome.left.code}: ${outcome.left.message}`);
  return outcome.right;
}

async function failure(call: Call<unknown>): Promise<AwsFailure> {
  const outcome = await call();
  if (E.isRight(outcome)) throw new Error(`answered ${JSON.stringify(outcome.right)}`);
  return outcome.left;
}

const right = <A>(either: E.Either<unknown, A>): A => {
  if (E.isLeft(either)) throw new Error(JSON.stringify(either.left));
  return either.right;
};

interface Way {
  readonly transport: AwsTransport;
  /** Absent where the transport goes nowhere else. */
  readonly url?: string;
  close(): Promise<void>;
}

const routes: readonly { readonly name: string; open(emulator: Emulator): Promise<Way> }[] = [
  {
    name: 'in this process',
    open: async (emulator) => ({
      transport: new EmulatorRequestHandler(emulator),
      close: async () => {},
    }),
  },
  {
    name: 'over the network',
    open: async (emulator) => {
      const server = await startServer({ emulator });
      const network = undiciTransport();
      return {
        transport: network,
        url: server.url,
        close: async () => {
          await network.close();
          await server.close();
        },
      };
    },
  },
];

for (const route of routes) {
  describe(`AWS as emulated, ${route.name}`, () => {
    let emulator: Emulator;
    let sessions: Sessions;
    let session: Session;
    let way: Way;

    beforeEach(async () => {
      emulator = new Emulator({ config: { eks: { createMs: 50, deleteMs: 50 } } });
      way = await route.open(emulator);
      sessions = sessionsOf(emulator.admin.registerKey({}));
      session = await open();
      emulator.admin.createCluster({ name: cluster, region, subnets: [{ id: 'subnet-1' }, { id: 'subnet-2' }] });
    });

    afterEach(() => way.close());

    function sessionsOf(key: { readonly accessKeyId: string; readonly secretAccessKey: string }): Sessions {
      const { accessKeyId, secretAccessKey } = key;
      return newSessions({
        clock: hurried,
        random: systemRandom,
        logger: new MemoryLogger(),
        transport: way.transport,
        limiter: newLimiter(hurried),
        metrics: awsMetrics(new Registry()),
        endpoints: right(
          resolveEndpoints({
            serviceEndpoints: [],
            environment: way.url === undefined ? {} : { AWS_ENDPOINT_URL: way.url },
          }),
        ),
        sources: {
          find: () => TE.right({ key: 'manager', fetch: async () => ({ accessKeyId, secretAccessKey }) }),
        },
        pool: new CredentialPool(hurried, new AbortController().signal),
        version: 'test',
        signal: new AbortController().signal,
      });
    }

    const request = (changes: Partial<SessionRequest> = {}): SessionRequest => ({
      region,
      identity: undefined,
      namespace: 'default',
      signal: new AbortController().signal,
      mutationBudget: () => 10_000,
      ...changes,
    });

    const open = async (changes: Partial<SessionRequest> = {}, from = sessions): Promise<Session> =>
      right(await from.open(request(changes))());

    const expected = () => ({ partition: 'aws', region, account: session.account, cluster });
    const eksArn = (): string => clusterArn({ partition: 'aws', region, account: session.account }, cluster);
    const wantedRole = (): NewRole => ({
      name: roleNameFor(clusterName, name),
      path: '/eks/',
      trust: trustPolicy(expected()),
      tags: right(roleTags(eksArn(), sources)),
    });
    const wantedProfile = (changes: Partial<NewFargateProfile> = {}): NewFargateProfile => ({
      cluster,
      name,
      podExecutionRoleArn: roleArn({ partition: 'aws', account: session.account }, '/eks/', wantedRole().name),
      subnets: ['subnet-1', 'subnet-2'],
      selectors: [{ namespace: 'web', labels: { app: 'x' } }],
      tags: right(profileTags({ namespace: 'default', name: 'web' }, sources)),
      ...changes,
    });

    async function createAll(): Promise<void> {
      const role = await answer(session.roles.create(wantedRole()));
      await answer(session.roles.attach(role.name, podExecutionPolicyArn('aws')));
      await answer(session.profiles.create(wantedProfile()));
    }

    async function settled(status: string): Promise<void> {
      await eventually(
        async () => {
          const found = await answer(session.profiles.describe(cluster, name));
          return found.kind === 'found' && found.profile.status === status;
        },
        { what: `a profile that is ${status}` },
      );
    }

    it('knows the account', () => {
      expect(session.account).to.equal('123456789012');
    });

    it('carries role and profile through their lives', async () => {
      const { roles, profiles, clusters } = session;
      expect(await answer(clusters.describe(cluster))).to.deep.include({
        value: { name: cluster, arn: eksArn(), status: 'ACTIVE', authenticationMode: 'API_AND_CONFIG_MAP' },
      });
      expect(await answer(roles.get(wantedRole().name))).to.deep.equal(O.none);
      expect(await answer(profiles.describe(cluster, name))).to.deep.equal({ kind: 'absent' });

      await createAll();
      const role = await answer(roles.get(wantedRole().name));
      expect(O.isSome(role)).to.equal(true);
      if (O.isSome(role)) {
        const { trust, tags, path, arn, id } = role.value;
        expect(sameTrust(trust, wantedRole().trust)).to.equal(true);
        expect(trusts(trust, { ...expected(), profile: name })).to.deep.equal({ kind: 'yes' });
        expect(tagDrift(wantedRole().tags, tags, [], foldCase)).to.deep.equal({ set: {}, remove: [] });
        expect({ path, arn }).to.deep.equal({ path: '/eks/', arn: wantedProfile().podExecutionRoleArn });
        expect(id).to.match(/^AROA/);
      }
      expect(await answer(roles.attachedPolicies(wantedRole().name))).to.deep.equal([podExecutionPolicyArn('aws')]);
      expect(await answer(roles.inlinePolicies(wantedRole().name))).to.deep.equal([]);
      expect(await answer(roles.instanceProfiles(wantedRole().name))).to.deep.equal([]);

      await settled('ACTIVE');
      const found = await answer(profiles.describe(cluster, name));
      if (found.kind !== 'found') throw new Error(found.kind);
      const { arn, status: _status, ...rest } = found.profile;
      expect(rest).to.deep.equal({ ...wantedProfile(), health: [] });
      expect(await answer(profiles.list(cluster))).to.deep.equal({ kind: 'listed', names: [name] });

      await answer(profiles.tag(arn, { team: 'b', more: 'c' }));
      await answer(profiles.untag(arn, ['more']));
      await answer(roles.tag(wantedRole().name, { Team: 'b' }));
      await answer(roles.untag(wantedRole().name, ['team', 'never there']));
      const boundary = emulator.admin.putPolicy({ name: 'boundary', region });
      await answer(roles.setBoundary(wantedRole().name, boundary));
      expect(await answer(roles.get(wantedRole().name))).to.have.nested.property('value.permissionsBoundary', boundary);
      await answer(roles.removeBoundary(wantedRole().name));
      await answer(roles.setTrust(wantedRole().name, trustPolicy({ ...expected(), cluster: EksClusterName.of('x') })));
      const changed = await answer(roles.get(wantedRole().name));
      expect(O.isSome(changed) && trusts(changed.value.trust, expected()).kind).to.equal('no');
      const tagged = await answer(profiles.describe(cluster, name));
      expect(tagged).to.have.nested.property('profile.tags.team', 'b');
      expect(tagged).to.not.have.nested.property('profile.tags.more');

      await answer(profiles.delete(cluster, name));
      await eventually(async () => (await answer(profiles.describe(cluster, name))).kind === 'absent', {
        what: 'the end of the profile',
      });
      expect(await failure(roles.delete(wantedRole().name))).to.satisfy(errors.isDeleteConflict);
      await answer(roles.detach(wantedRole().name, podExecutionPolicyArn('aws')));
      await answer(roles.detach(wantedRole().name, podExecutionPolicyArn('aws')));
      await answer(roles.delete(wantedRole().name));
      expect(leftovers(emulator.admin.world())).to.deep.equal([]);
    });

    it('tells a missing cluster from a missing profile', async () => {
      const gone = EksClusterName.of('gone');
      expect(await answer(session.profiles.describe(gone, name))).to.deep.equal({ kind: 'clusterGone' });
      expect(await answer(session.profiles.list(gone))).to.deep.equal({ kind: 'clusterGone' });
      expect(await answer(session.clusters.describe(gone))).to.deep.equal(O.none);
    });

    it('looks into its own region alone', async () => {
      const elsewhere = await open({ region: 'us-east-1' });
      expect(await answer(elsewhere.profiles.describe(cluster, name))).to.deep.equal({ kind: 'clusterGone' });
      await answer(session.roles.create(wantedRole()));
      expect(O.isSome(await answer(elsewhere.roles.get(wantedRole().name))), 'IAM is global').to.equal(true);
    });

    describe('refusals are told apart', () => {
      it('a busy sibling, the name taken, the cluster updating', async () => {
        emulator.admin.setConfig({ eks: { createMs: 60_000 } });
        await createAll();
        const sibling = await failure(session.profiles.create(wantedProfile({ name: ProfileName.of('other') })));
        expect(errors.busySibling(sibling)).to.deep.equal(O.some({ name, status: 'CREATING' }));
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isNameTaken);
        emulator.admin.setProfile({ region, cluster, name, status: 'ACTIVE' });
        emulator.admin.setCluster({ region, name: cluster, updateInProgressMs: 60_000 });
        expect(await failure(session.profiles.delete(cluster, name))).to.satisfy(errors.isClusterUpdating);
      });

      it('a trust policy that EKS does not see or that is wrong', async () => {
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isRolePropagating);
        const other = trustPolicy({ ...expected(), cluster: EksClusterName.of('other') });
        await answer(session.roles.create({ ...wantedRole(), trust: other }));
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isRolePropagating);
      });

      it('the quota of profiles, a public subnet, a role that exists', async () => {
        emulator.admin.setConfig({ eks: { maxProfilesPerCluster: 0 } });
        await answer(session.roles.create(wantedRole()));
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isQuotaExceeded);
        emulator.admin.setConfig({ eks: { maxProfilesPerCluster: 10 } });
        emulator.admin.createCluster({ name: 'p', region, subnets: [{ id: 'subnet-public', isPublic: true }] });
        const refused = await failure(session.profiles.create(wantedProfile({ subnets: ['subnet-public'] })));
        expect(refused).to.satisfy(errors.isInvalidRequest);
        expect(await failure(session.roles.create(wantedRole()))).to.satisfy(errors.isNameTaken);
      });

      it('what the identity may not do', async () => {
        emulator.admin.deny({ principal: '*', action: 'eks:DescribeFargateProfile' });
        emulator.admin.deny({ principal: '*', action: 'iam:GetRole' });
        expect(await failure(session.profiles.describe(cluster, name))).to.satisfy(errors.isAccessDenied);
        expect(await failure(session.roles.get(wantedRole().name))).to.satisfy(errors.isAccessDenied);
        const slr = await failure(session.profiles.create(wantedProfile()));
        expect(slr).to.satisfy(errors.isAccessDenied);
        expect(slr.message).to.contain('AWSServiceRoleForAmazonEKSForFargate');
      });
    });

    describe('faults', () => {
      const unavailable: readonly FaultKind[] = ['500-before', '500-after', 'reset', 'reset-after', 'html-503'];
      const silent: readonly FaultKind[] = ['no-answer-before', 'no-answer-after', 'stall-after'];

      for (const kind of [...unavailable, ...silent]) {
        it(`${kind} of EKS and IAM leaves the effect unknown, once`, async () => {
          await answer(session.roles.create(wantedRole()));
          emulator.admin.addFault({ kind, operation: 'CreateFargateProfile' });
          emulator.admin.addFault({ kind, operation: 'DeleteRole' });
          const create = await failure(session.profiles.create(wantedProfile()));
          expect(create, JSON.stringify(create)).to.satisfy(errors.isUnavailable);
          const remove = await failure(session.roles.delete(wantedRole().name));
          expect(remove, JSON.stringify(remove)).to.satisfy(errors.isUnavailable);
          expect(sent('CreateFargateProfile')).to.equal(1);
          expect(sent('DeleteRole')).to.equal(1);
        });
      }

      it('garbage instead of an answer is no success', async () => {
        await answer(session.roles.create(wantedRole()));
        emulator.admin.addFault({ kind: 'garbage-after', operation: '*' });
        for (const call of [
          session.profiles.create(wantedProfile()),
          session.profiles.describe(cluster, name),
          session.roles.get(wantedRole().name),
          session.roles.delete(wantedRole().name),
        ]) {
          expect((await failure(call)).code).to.equal('Undecodable');
        }
      });

      it('throttling is told and not tried again', async () => {
        emulator.admin.addFault({ kind: 'throttle', operation: '*' });
        expect(await failure(session.profiles.describe(cluster, name))).to.satisfy(errors.isThrottled);
        expect(await failure(session.roles.get(RoleName.of('r')))).to.satisfy(errors.isThrottled);
        expect(sent('DescribeFargateProfile')).to.equal(1);
        expect(sent('GetRole')).to.equal(1);
      });
    });

    it('sends no mutation without leadership', async () => {
      const deposed = await open({ mutationBudget: () => 0 });
      emulator.admin.clearCalls();
      expect(await failure(deposed.roles.create(wantedRole()))).to.satisfy(errors.isNotDispatched);
      expect(await failure(deposed.profiles.create(wantedProfile()))).to.satisfy(errors.isNotDispatched);
      expect(emulator.admin.calls()).to.deep.equal([]);
    });

    it('signs for its region', async () => {
      await answer(session.roles.get(RoleName.of('r')));
      await answer(session.clusters.describe(cluster));
      const regions = emulator.admin.calls().map((call) => [call.operation, call.region]);
      expect(regions).to.deep.include(['DescribeCluster', region]);
      expect(regions).to.deep.include(['GetCallerIdentity', region]);
    });

    const sent = (operation: string): number =>
      emulator.admin.calls().filter((call) => call.operation === operation).length;

    it('finds the rate that AWS allows, with few refusals', async () => {
      emulator.admin.setConfig({ throttle: { perSecond: 20, burst: 20 } });
      emulator.admin.clearCalls();
      let refused = 0;
      const worker = async (): Promise<void> => {
        for (let i = 0; i < 12; i++) {
          const outcome = await session.clusters.describe(cluster)();
          if (E.isLeft(outcome)) {
            expect(outcome.left).to.satisfy(errors.isThrottled);
            refused += 1;
          }
        }
      };
      await Promise.all(Array.from({ length: 5 }, worker));
      expect(refused).to.be.within(1, 12);
    });

    it('keeps accounts apart', async () => {
      await answer(session.roles.create(wantedRole()));
      const other = await open({}, sessionsOf(emulator.admin.registerKey({ account: '999988887777' })));
      expect(other.account).to.equal('999988887777');
      expect(await answer(other.roles.get(wantedRole().name))).to.deep.equal(O.none);
      expect(await answer(other.clusters.describe(cluster))).to.deep.equal(O.none);
    });

    it('says that a key is none', async () => {
      const { accessKeyId } = emulator.admin.registerKey({});
      emulator.admin.removeKey({ accessKeyId });
      const opened = await sessionsOf({ accessKeyId, secretAccessKey: 's' }).open(request())();
      expect(opened).to.have.nested.property('left.reason', 'CredentialsInvalid');
    });
  });
}
