import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { Registry } from 'prom-client';
import { ClusterName, EksClusterName, ProfileName, RoleName } from '../../../api/names.ts';
import {
  CallerAccounts,
  CredentialPool,
  resolveEndpoints,
  newLimiter,
  awsMetrics,
  newSessions,
  undiciTransport,
} from '../../../pkg/cloud/index.ts';
import * as errors from '../../../pkg/cloud/index.ts';
import type {
  AwsFailure,
  AwsTransport,
  Session,
  SessionRequest,
  Sessions,
  NewRole,
  NewFargateProfile,
  Call,
} from '../../../pkg/cloud/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import { systemClock, systemRandom } from '../../../pkg/env/system.ts';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { clusterArn, podExecutionPolicyArn, roleArn } from '../../../pkg/fargate/arns.ts';
import { tagDrift } from '../../../pkg/fargate/tags/tag-drift.ts';
import { foldCase } from '../../../pkg/fargate/tags/tag-keys.ts';
import { profileTags, roleTags } from '../../../pkg/fargate/tags/tags-to-set.ts';
import { areTrustPoliciesEqual, trustPolicy, checkTrust } from '../../../pkg/fargate/trust-policy.ts';
import { roleNameFor } from '../../../pkg/fargate/names.ts';
import { Emulator } from '../../aws/emulator.ts';
import type { FaultKind } from '../../aws/faults.ts';
import { leftovers } from '../../aws/admin/expect-nothing-left.ts';
import { EmulatorRequestHandler } from '../../aws/transport/request-handler.ts';
import { startServer } from '../../aws/transport/server.ts';
import { eventually } from '../../support/eventually.ts';

const region = 'eu-west-1';
const cluster = EksClusterName.of('default_prod');
const clusterName = ClusterName.of('prod');
const name = ProfileName.of('default_web');
const sources = { clusterName, object: { team: 'a' }, controlPlane: {} };

/**
 * The long timers that run, such as the deadlines of AWS calls. They end only when a test calls `expireDeadlines`: a
 * deadline in real time could pass on a busy machine although AWS answers.
 */
const deadlines = new Set<() => void>();
const clockWithoutDeadlines: Clock = {
  ...systemClock,
  after: (delay, fire) => {
    if (delay < 10_000) return systemClock.after(delay, fire);
    deadlines.add(fire);
    return { cancel: () => void deadlines.delete(fire) };
  },
};
const expireDeadlines = (): void => {
  for (const fire of deadlines) fire();
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

interface Route {
  readonly transport: AwsTransport;
  /**
   * The URL of the AWS emulator; undefined: the transport calls the emulator in the same process, without the network.
   */
  readonly url?: string;
  close(): Promise<void>;
}

const ROUTES: readonly { readonly name: string; open(emulator: Emulator): Promise<Route> }[] = [
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

for (const option of ROUTES) {
  describe(`an AWS session with the emulator ${option.name}`, () => {
    let emulator: Emulator;
    let sessions: Sessions;
    let session: Session;
    let route: Route;

    beforeEach(async () => {
      emulator = new Emulator({ config: { eks: { createMs: 50, deleteMs: 50 } } });
      route = await option.open(emulator);
      sessions = sessionsOf(emulator.admin.registerKey({}));
      session = await open();
      emulator.admin.createCluster({ name: cluster, region, subnets: [{ id: 'subnet-1' }, { id: 'subnet-2' }] });
    });

    afterEach(() => route.close());

    function sessionsOf(key: { readonly accessKeyId: string; readonly secretAccessKey: string }): Sessions {
      const { accessKeyId, secretAccessKey } = key;
      const { signal } = new AbortController();
      const shared = {
        clock: clockWithoutDeadlines,
        logger: new MemoryLogger(),
        transport: route.transport,
        limiter: newLimiter(clockWithoutDeadlines),
        metrics: awsMetrics(new Registry()),
        endpoints: right(
          resolveEndpoints({
            serviceEndpoints: [],
            environment: route.url === undefined ? {} : { AWS_ENDPOINT_URL: route.url },
          }),
        ),
        pool: new CredentialPool(clockWithoutDeadlines, signal, 10 * 60_000),
        region,
        version: 'test',
      };
      return newSessions({
        ...shared,
        random: systemRandom,
        sources: {
          find: () => TE.right({ key: 'manager', fetch: async () => ({ accessKeyId, secretAccessKey }) }),
        },
        accounts: new CallerAccounts({ ...shared, signal }),
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
      tags: right(roleTags({ eksClusterArn: eksArn(), namespace: 'default' }, sources)),
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

    async function waitForStatus(status: string): Promise<void> {
      await eventually(
        async () => {
          const found = await answer(session.profiles.describe(cluster, name));
          return found.kind === 'found' && found.profile.status === status;
        },
        { what: `a profile that is ${status}` },
      );
    }

    it('has the account of its credentials', () => {
      expect(session.account).to.equal('123456789012');
    });

    it('creates, changes and deletes a role and a profile', async () => {
      const { roles, profiles, clusters, accessEntries } = session;
      expect(await answer(clusters.describe(cluster))).to.deep.include({
        name: cluster,
        arn: eksArn(),
        status: 'ACTIVE',
        authenticationMode: 'API_AND_CONFIG_MAP',
      });
      expect(await answer(roles.get(wantedRole().name))).to.deep.equal(undefined);
      expect(await answer(profiles.describe(cluster, name))).to.deep.equal({ kind: 'absent' });

      await createAll();
      const role = await answer(roles.get(wantedRole().name));
      expect(role).not.to.equal(undefined);
      if (role !== undefined) {
        const { trust, tags, path, arn, id } = role;
        expect(areTrustPoliciesEqual(trust, wantedRole().trust)).to.equal(true);
        expect(checkTrust(trust, { ...expected(), profile: name })).to.deep.equal({ kind: 'trusted' });
        expect(tagDrift({ tags: wantedRole().tags, additions: [] }, { tags }, [], foldCase)).to.deep.equal({
          set: {},
          remove: [],
        });
        expect({ path, arn }).to.deep.equal({ path: '/eks/', arn: wantedProfile().podExecutionRoleArn });
        expect(id).to.match(/^AROA/);
      }
      expect(await answer(roles.attachedPolicies(wantedRole().name))).to.deep.equal([podExecutionPolicyArn('aws')]);
      expect(await answer(roles.inlinePolicies(wantedRole().name))).to.deep.equal([]);
      expect(await answer(roles.instanceProfiles(wantedRole().name))).to.deep.equal([]);

      await waitForStatus('ACTIVE');
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
      expect(await answer(roles.get(wantedRole().name))).to.have.nested.property('permissionsBoundary', boundary);
      await answer(roles.removeBoundary(wantedRole().name));
      await answer(roles.setTrust(wantedRole().name, trustPolicy({ ...expected(), cluster: EksClusterName.of('x') })));
      const changed = await answer(roles.get(wantedRole().name));
      expect(changed !== undefined && checkTrust(changed.trust, expected()).kind).to.equal('untrusted');
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
      await answer(accessEntries.delete(cluster, wantedProfile().podExecutionRoleArn));
      await answer(roles.delete(wantedRole().name));
      expect(leftovers(emulator.admin.snapshot())).to.deep.equal([]);
    });

    it('distinguishes a missing cluster from a missing profile', async () => {
      const gone = EksClusterName.of('gone');
      expect(await answer(session.profiles.describe(gone, name))).to.deep.equal({ kind: 'clusterGone' });
      expect(await answer(session.profiles.list(gone))).to.deep.equal({ kind: 'clusterGone' });
      expect(await answer(session.clusters.describe(gone))).to.deep.equal(undefined);
    });

    it('sees only the profiles of its region', async () => {
      const elsewhere = await open({ region: 'us-east-1' });
      expect(await answer(elsewhere.profiles.describe(cluster, name))).to.deep.equal({ kind: 'clusterGone' });
      await answer(session.roles.create(wantedRole()));
      expect((await answer(elsewhere.roles.get(wantedRole().name))) !== undefined, 'IAM is global').to.equal(true);
    });

    describe('classifies refusals', () => {
      it('of a cluster that changes another profile, of a taken profile name and of a cluster update', async () => {
        emulator.admin.setConfig({ eks: { createMs: 60_000 } });
        await createAll();
        const sibling = await failure(session.profiles.create(wantedProfile({ name: ProfileName.of('other') })));
        expect(errors.busySibling(sibling)).to.deep.equal({ name, status: 'CREATING' });
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isNameTaken);
        emulator.admin.setProfile({ region, cluster, name, status: 'ACTIVE' });
        emulator.admin.setCluster({ region, name: cluster, updateInProgressMs: 60_000 });
        expect(await failure(session.profiles.delete(cluster, name))).to.satisfy(errors.isClusterUpdating);
      });

      it('of a role whose trust policy is wrong or not visible to EKS yet', async () => {
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isRoleRejected);
        const other = trustPolicy({ ...expected(), cluster: EksClusterName.of('other') });
        await answer(session.roles.create({ ...wantedRole(), trust: other }));
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isRoleRejected);
      });

      it('of the profile quota, of a public subnet and of a taken role name', async () => {
        emulator.admin.setConfig({ eks: { maxProfilesPerCluster: 0 } });
        await answer(session.roles.create(wantedRole()));
        expect(await failure(session.profiles.create(wantedProfile()))).to.satisfy(errors.isQuotaExceeded);
        emulator.admin.setConfig({ eks: { maxProfilesPerCluster: 10 } });
        emulator.admin.createCluster({ name: 'p', region, subnets: [{ id: 'subnet-public', isPublic: true }] });
        const refused = await failure(session.profiles.create(wantedProfile({ subnets: ['subnet-public'] })));
        expect(refused).to.satisfy(errors.isInvalidRequest);
        expect(await failure(session.roles.create(wantedRole()))).to.satisfy(errors.isNameTaken);
      });

      it('of calls without permission', async () => {
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
        it(`${kind} makes an EKS or IAM mutation fail with an unknown effect after one attempt`, async () => {
          await answer(session.roles.create(wantedRole()));
          emulator.admin.addFault({ kind, operation: 'CreateFargateProfile' });
          emulator.admin.addFault({ kind, operation: 'DeleteRole' });
          for (const [operation, call] of [
            ['CreateFargateProfile', session.profiles.create(wantedProfile())],
            ['DeleteRole', session.roles.delete(wantedRole().name)],
          ] as const) {
            const failed = failure(call);
            if (silent.includes(kind)) {
              await eventually(() => sent(operation) === 1, { what: operation });
              expireDeadlines();
            }
            expect(await failed).to.satisfy(errors.isUnavailable);
          }
          expect(sent('CreateFargateProfile')).to.equal(1);
          expect(sent('DeleteRole')).to.equal(1);
        });
      }

      it('an undecodable answer is a failure', async () => {
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

      it('throttling is a failure after one attempt', async () => {
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

    it('signs requests for its region', async () => {
      await answer(session.roles.get(RoleName.of('r')));
      await answer(session.clusters.describe(cluster));
      const regions = emulator.admin.calls().map((call) => [call.operation, call.region]);
      expect(regions).to.deep.include(['DescribeCluster', region]);
      expect(regions).to.deep.include(['GetCallerIdentity', region]);
    });

    const sent = (operation: string): number =>
      emulator.admin.calls().filter((call) => call.operation === operation).length;

    it('sees only the resources of its account', async () => {
      await answer(session.roles.create(wantedRole()));
      const other = await open({}, sessionsOf(emulator.admin.registerKey({ account: '999988887777' })));
      expect(other.account).to.equal('999988887777');
      expect(await answer(other.roles.get(wantedRole().name))).to.deep.equal(undefined);
      expect(await answer(other.clusters.describe(cluster))).to.deep.equal(undefined);
    });

    it('does not open with an invalid access key', async () => {
      const { accessKeyId } = emulator.admin.registerKey({});
      emulator.admin.removeKey({ accessKeyId });
      const opened = await sessionsOf({ accessKeyId, secretAccessKey: 's' }).open(request())();
      expect(opened).to.have.nested.property('left.reason', 'CredentialsInvalid');
    });
  });
}
