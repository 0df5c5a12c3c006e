import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { DeadlineExceeded } from 'controller-runtime/async';
import type { KubeObject } from 'controller-runtime/client';
import type { Requeue } from 'controller-runtime/controller';
import { fieldAt, textAt } from 'controller-runtime/json';
import { LockQueue } from 'controller-runtime/queue';
import { type FakeKind, type Intercept, json, MemoryLogger } from 'controller-runtime/testing';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import {
  FINALIZER,
  RECORD_ANNOTATION,
  TAKE_OVER_ANNOTATION,
  decodeAWSFargateProfile,
} from '../../api/v1beta2/index.ts';
import type { CredentialsProblem, Session, SessionRequest } from '../../pkg/cloud/index.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { EMPTY_RECORD, MAX_RECORD, type ProfileRecord, formatRecord, recordOf } from '../shared/record.ts';
import { newStores } from '../shared/caches.ts';
import { RetryStore } from './retry-state.ts';
import type { FinalizerResult } from '../shared/control-plane/control-plane-finalizer.ts';
import { ServedSchema } from '../shared/crd/served-schema.ts';
import { newFindLiveBlocker } from './guards/checks.ts';
import { clusterKeyOf, newLiveInputs } from './goal/inputs.ts';
import { newLiveRoleUsers } from './guards/role-users/live-objects.ts';
import { ClusterQueues } from './cluster-queue.ts';
import { Competition } from './overlap/condition.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import { Reconciler } from './reconcile.ts';
import { type Api, CLUSTER, CONTROL_PLANE, PROFILE_KIND, newApi } from './testing/api.ts';
import {
  type ObjectParts,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  FULL_RECORD,
  NOW,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  RECORDED,
  ROLE,
  aFailure,
  anObject,
} from './testing/builders.ts';
import { QUEUE, aSimulatedProfile, aSimulatedRole, awsWith } from './testing/reconcile-state.ts';
import { type SimulatedAws, type SimulatedSession, sessionOn } from './testing/simulated-aws.ts';

const KEY = { namespace: 'team-a', name: 'web' };
const CLUSTERS = { group: CLUSTER.group, version: 'v1beta2', plural: CLUSTER.plural };
const CONTROL_PLANES = { group: CONTROL_PLANE.group, version: 'v1beta2', plural: CONTROL_PLANE.plural };
const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };

/** Returns the finalizer or annotation that a merge patch of metadata changes. */
const changeIn = (body: string): string => ['finalizers', 'record'].find((word) => body.includes(word)) ?? 'metadata';

// `plan`, `findObstacle`, and `execute` have separate tests, and test/simulation/stories shows the order of a reconcile's
// requests. The tests in this file cover reconciles that end before they read or change AWS, the locks of roles, and
// rare answers of AWS and the API server.
describe('Reconciler', () => {
  let api: Api;
  let aws: SimulatedAws;
  let session: SimulatedSession;
  let stores: ReturnType<typeof newStores>;
  let retryStore: RetryStore;
  let clusterQueues: ClusterQueues;
  let roleLocks: LockQueue;
  let recordedEvents: string[];
  let reconciler: Reconciler;
  /**
   * The requests that the reconcile has sent, in order: writes of the AWSFargateProfile and of the control plane's
   * finalizer, openings of an AWS session, and calls to AWS.
   */
  let requests: string[];
  let finalizerResult: FinalizerResult;
  let credentialsProblem: CredentialsProblem | undefined;
  let onSession: (request: SessionRequest) => void;

  beforeEach(() => {
    onSession = () => {};
    api = newApi();
    aws = awsWith();
    session = sessionOn(aws);
    requests = [];
    recordedEvents = [];
    finalizerResult = { kind: 'present' };
    credentialsProblem = undefined;
    session.onCall = (operation) => {
      requests.push(operation);
      return undefined;
    };
    api.server.intercept = ({ method, path, body = '' }) => {
      if (method !== 'GET') requests.push(`${method} ${path.endsWith('/status') ? 'status' : changeIn(body)}`);
      return undefined;
    };
    const { client, clock, random } = api;
    const logger = new MemoryLogger();
    stores = newStores(logger);
    const { typed } = stores;
    retryStore = new RetryStore(clock);
    clusterQueues = new ClusterQueues({
      clock,
      caches: stores,
      retryStore,
      wake: ({ name }, place) => requests.push(`wake ${name} as ${place}`),
    });
    roleLocks = new LockQueue((id) => void requests.push(`wake ${id}`));
    reconciler = new Reconciler({
      ...typed,
      clock,
      random,
      profileWriter: new ProfileWriter({
        client,
        store: stores.profiles,
        profiles: typed.profiles,
        onForeignChange: () => {},
      }),
      findLiveBlocker: newFindLiveBlocker({
        client,
        clusters: () => CLUSTERS,
        clusterKeyOf: (object) => clusterKeyOf(object, { ...typed, limits: NO_LIMITS }),
      }),
      readLiveInputs: newLiveInputs(client, { clusters: () => CLUSTERS, controlPlanes: () => CONTROL_PLANES }),
      roleUsers: newLiveRoleUsers({ client, clock, schema: { isSettled: () => true } }),
      schema: new ServedSchema({ client, clock, logger, metrics: { foreign: () => {} } }),
      limits: NO_LIMITS,
      sessions: {
        open: async (request) => {
          requests.push('open a session');
          onSession(request);
          return credentialsProblem === undefined
            ? E.right<CredentialsProblem, Session>(session)
            : E.left(credentialsProblem);
        },
      },
      clusterQueues,
      competition: new Competition(typed.profiles, NO_LIMITS),
      recordTurnSpan: () => {},
      recordEviction: () => {},
      openPods: async () => E.right(undefined),
      controlPlaneFinalizer: {
        add: async () => {
          requests.push('add the control plane finalizer');
          return finalizerResult;
        },
        confirm: async () => {
          requests.push('confirm the control plane finalizer');
          return finalizerResult;
        },
      },
      retryStore,
      roleLocks,
      leadership: { remaining: () => 15_000 },
      recordEvent: (_object, { reason }) => void recordedEvents.push(reason),
      resync: 600_000,
    });
  });

  const now = (): KubeObject => api.server.storage.get(PROFILE_KIND, KEY) ?? expect.fail('the object is gone');
  const reasonOf = (type: string): string | undefined => {
    const conditions: unknown = fieldAt(now()['status'], 'conditions');
    const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
    return textAt(
      all.find((each) => fieldAt(each, 'type') === type),
      'reason',
    );
  };
  /** Returns the record that the object has in the API server. */
  const recorded = (): ProfileRecord => {
    const decoded = decodeAWSFargateProfile(now());
    return E.isRight(decoded) ? recordOf(decoded.right) : expect.fail('the object cannot be decoded');
  };
  const all = (kind: FakeKind): readonly KubeObject[] => api.server.storage.list(kind, KEY.namespace);
  function sync(): void {
    const version = String(api.server.storage.newest);
    stores.profiles.replaceAll(all(PROFILE_KIND), version);
    stores.clusters.replaceAll(all(CLUSTER), version);
    stores.controlPlanes.replaceAll(all(CONTROL_PLANE), version);
  }

  /** Creates the object in the fake API server, with its Cluster and a ready control plane. */
  function given(parts: ObjectParts = {}): void {
    api.putCluster({ controlPlaneRef: REFERENCE });
    const controlPlane = api.putControlPlane({
      region: 'eu-west-1',
      eksClusterName: EKS_CLUSTER,
      network: { subnets: ['subnet-0a', 'subnet-0b'].map((id) => ({ id, isPublic: false })) },
    });
    const key = { ...KEY, name: controlPlane.metadata.name };
    api.server.storage.mergePatch(CONTROL_PLANE, key, { status: { ready: true } }, 'status');
    api.put({ ...parts, metadata: { finalizers: [], annotations: {}, ...parts.metadata } });
    sync();
  }
  function deleted(parts: ObjectParts = {}): void {
    given({ ...parts, metadata: { finalizers: [FINALIZER], ...parts.metadata } });
    api.server.storage.delete(PROFILE_KIND, KEY);
    sync();
    requests.length = 0;
  }
  const reconcile = (): Promise<Requeue> =>
    reconciler.reconcile(KEY, { logger: new MemoryLogger(), signal: new AbortController().signal });

  for (const [what, parts, isRecorded] of [
    ['its role', [aSimulatedRole()], true],
    ['nothing', [], false],
  ] as const)
    it(`records ${isRecorded ? 'the location' : 'no location'} if AWS has ${what} and nothing may be created`, async () => {
      finalizerResult = { kind: 'controlPlaneDeleting' };
      aws = awsWith(...parts);
      session = sessionOn(aws);
      given();
      await reconcile();
      expect(recorded().in.kind).to.equal(isRecorded ? 'known' : 'none');
    });

  it('has written the location into the record before the first change, and does not remove it', async () => {
    given();
    const changes: string[] = [];
    session.onCall = (operation) => {
      if (!/^(?:Get|List|Describe)/.test(operation)) changes.push(`${operation}: ${recorded().in.kind}`);
      return undefined;
    };
    await reconcile();
    expect(changes).to.deep.equal(['CreateRole: known', 'AttachRolePolicy: known', 'CreateFargateProfile: known']);
  });

  it('calls no AWS API for an object that the cache does not have yet, or that is gone', async () => {
    requests.length = 0;
    retryStore.update(anObject(), () => ({ surveyed: { until: 5 } }));
    expect(await reconcile()).to.include({ kind: 'backoff' });
    expect(retryStore.get(anObject())).to.deep.equal({ surveyed: { until: 5 } });
    stores.profiles.replaceAll([], '1');
    expect(await reconcile()).to.include({ kind: 'done' });
    expect(retryStore.get(anObject())).to.deep.equal({});
    expect(requests).to.deep.equal([]);
  });

  it('calls no AWS API for an object that another client has changed since the cache read it', async () => {
    given();
    api.change(now(), { metadata: { labels: { by: 'them' } } });
    requests.length = 0;
    expect(await reconcile()).to.deep.equal({ kind: 'conflict' });
    expect(requests).to.deep.equal(['PATCH finalizers']);
    expect(now().metadata.finalizers ?? []).to.deep.equal([]);
  });

  for (const isPaused of [false, true])
    it(`${isPaused ? 'does not delete' : 'deletes'} a living object again whose deletion clusterctl move has interrupted, if the API server shows ${isPaused ? 'a' : 'no'} pause`, async () => {
      given({ metadata: { finalizers: [FINALIZER] }, record: { ...FULL_RECORD, deleting: true } });
      aws.profiles.set(PROFILE, aSimulatedProfile());
      if (isPaused) api.server.storage.mergePatch(CLUSTER, { ...KEY, name: 'prod' }, { spec: { paused: true } });
      await reconcile();
      expect(now().metadata.deletionTimestamp === undefined).to.equal(isPaused);
      expect(session.calls.join()).not.to.contain('Delete');
      expect(recordedEvents).to.deep.equal(isPaused ? [] : ['ResumedDeletion']);
    });

  describe('with what it has recorded', () => {
    it('remembers what another client has removed from the object', async () => {
      given();
      await reconcile();
      const { profiles, roles } = recorded();
      expect(profiles).to.have.length(1);
      api.server.storage.mergePatch(PROFILE_KIND, KEY, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
      sync();
      await reconcile();
      expect(recorded().profiles.map(({ id }) => id)).to.deep.equal(profiles.map(({ id }) => id));
      expect(recorded().roles.map(({ name }) => name)).to.deep.equal(roles.map(({ name }) => name));
    });

    it('keeps a record readable that has no room for the mark of a deletion', async () => {
      const withText = (length: number) => ({ ...FULL_RECORD, others: { x: 'x'.repeat(length) } });
      const length = (record: Partial<ProfileRecord>) =>
        formatRecord({ ...EMPTY_RECORD, ...record }, anObject()).length;
      deleted({ record: withText(MAX_RECORD - length(withText(0))) });
      aws.profiles.set(PROFILE, aSimulatedProfile());
      await reconcile();
      expect(recorded()).to.not.have.property('deleting');
      expect(requests).to.include('DeleteFargateProfile');
    });

    it('deletes a younger profile of another record when the annotation names it, among others', async () => {
      const [name, id] = ['team-a_elsewhere', 'made-elsewhere'];
      const metadata = { annotations: { [TAKE_OVER_ANNOTATION]: `other, ${id}` } };
      deleted({ metadata, record: { ...FULL_RECORD, last: NOW - 60_000 } });
      aws.profiles.set(name, aSimulatedProfile({ name, id, createdAt: NOW }));
      await reconcile();
      const changes = session.calls.filter((call) => !/^(Get|List|Describe)/.test(call));
      expect(changes).to.deep.equal([`DeleteFargateProfile ${name}`]);
    });
  });

  describe('without usable credentials', () => {
    it('reports no problem when the manager only stops', async () => {
      given();
      credentialsProblem = { reason: 'Interrupted', message: 'the manager stops' };
      expect(await reconcile()).to.include({ kind: 'after', reason: 'NotNow' });
      expect(reasonOf('CredentialsReady')).to.equal(undefined);
    });

    const nowhere = { record: {} };
    const refused = { reason: 'IdentityNotAllowed', message: 'the identity does not allow the namespace' } as const;

    for (const [situation, parts, problem] of [
      ['without a record', { metadata: { annotations: {} } }, refused],
      ['whose record names a place', { record: { in: HERE } }, refused],
      ['whose record cannot be read', { metadata: { annotations: { [RECORD_ANNOTATION]: 'x' } } }, refused],
      ['while the identities cannot be read', nowhere, { reason: 'IdentityUnreadable', message: 'no' }],
      [
        'while AWS does not answer',
        nowhere,
        { reason: 'AccountUnknown', message: 'no', failure: aFailure({ service: 'sts', code: 'NoAnswer' }) },
      ],
    ] as const)
      it(`keeps a deleted object ${situation}`, async () => {
        deleted(parts);
        credentialsProblem = problem;
        await reconcile();
        expect(now().metadata.finalizers).to.deep.equal([FINALIZER]);
      });

    for (const paused of [false, true])
      it(`${paused ? 'keeps' : 'releases'} a deleted object without AWS resources if the API server shows ${paused ? 'a' : 'no'} pause of its Cluster`, async () => {
        deleted(nowhere);
        credentialsProblem = refused;
        // The cache does not show the pause yet.
        api.server.storage.mergePatch(CLUSTER, { ...KEY, name: 'prod' }, { spec: { paused } });
        await reconcile();
        expect(api.server.storage.get(PROFILE_KIND, KEY) !== undefined).to.equal(paused);
        expect(recordedEvents).to.deep.equal(paused ? [] : ['ReleasedWithoutCredentials']);
      });

    it('looks for a profile in AWS before it ends such a deletion with credentials', async () => {
      deleted(nowhere);
      await reconcile();
      expect(session.calls).to.not.deep.equal([]);
      expect(requests).to.not.include('PATCH record');
      expect(api.server.storage.get(PROFILE_KIND, KEY)).to.equal(undefined);
    });

    it('deletes a retained object of a torn down cluster if nothing was created in AWS', async () => {
      given({ ...nowhere, metadata: { finalizers: [FINALIZER] }, spec: { deletionPolicy: 'Retain' } });
      const key = { ...KEY, name: REFERENCE.name };
      api.server.storage.mergePatch(CONTROL_PLANE, key, { metadata: { finalizers: ['test.example.com/held'] } });
      api.server.storage.delete(CONTROL_PLANE, key);
      sync();
      credentialsProblem = refused;
      await reconcile();
      expect(now().metadata.deletionTimestamp).to.not.equal(undefined);
    });
  });

  for (const result of [{ kind: 'controlPlaneDeleting' }, { kind: 'rejected', reason: 'no' }] as const)
    it(`repairs an existing role although the control plane finalizer cannot be added: ${result.kind}`, async () => {
      finalizerResult = result;
      aws.profiles.set(PROFILE, aSimulatedProfile());
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole({ attached: [] }));
      given({ metadata: { finalizers: [FINALIZER] }, record: FULL_RECORD });
      await reconcile();
      expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
    });

  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T03:25:00Z' } as const;
  for (const [what, status, expected] of [
    ['a new object', {}, 'read'],
    ['an object at rest', { observedGeneration: 1, conditions: [ready] }, 'resync'],
    ['a changed object', { observedGeneration: 0, conditions: [ready] }, 'read'],
    ['an object whose profile EKS changes', { profileName: PROFILE, profileStatus: 'CREATING' }, 'poll'],
  ] as const)
    it(`gives the reads of ${what} the priority of a ${expected}`, async () => {
      given({ metadata: { finalizers: [FINALIZER] }, status });
      let found: unknown;
      onSession = ({ readPriority }) => (found = readPriority?.());
      await reconcile();
      expect(found).to.equal(expected);
    });

  it('gives the reads of a resync their usual priority as soon as the object changes', async () => {
    given({ metadata: { finalizers: [FINALIZER] }, status: { observedGeneration: 1, conditions: [ready] } });
    const found: unknown[] = [];
    onSession = ({ readPriority }) => {
      found.push(readPriority?.());
      api.server.storage.mergePatch(PROFILE_KIND, KEY, { spec: { additionalTags: { team: 'a' } } });
      sync();
      found.push(readPriority?.());
    };
    await reconcile();
    expect(found).to.deep.equal(['resync', 'read']);
  });

  it('retries soon while another reconcile decides about the same role', async () => {
    given();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const other = roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/${ROLE.toLowerCase()}`], () => held);
    expect(await reconcile()).to.include({ kind: 'after', reason: 'NotNow' });
    expect(session.calls).to.deep.equal([]);
    release();
    await other;
    expect(requests).to.include('wake team-a/web');
    sync();
    await reconcile();
    expect(session.calls.join()).to.contain('CreateRole');
  });

  it('locks each role of the record, also under another name than that of the spec', async () => {
    given({ record: { in: HERE, roles: [{ name: RoleName.of('Former') }] } });
    await roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/former`], async () => {
      expect(await reconcile()).to.include({ reason: 'NotNow' });
    });
  });

  it('locks no role of the record that another owner has', async () => {
    given({ record: { in: HERE, roles: [{ name: RoleName.of('theirs'), managed: false }] } });
    await roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/theirs`], async () => {
      expect(await reconcile()).to.include({ reason: 'Creating' });
    });
  });

  it('locks no role that the object brings along', async () => {
    const roleARN = RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/theirs`);
    aws.roles.set('theirs', aSimulatedRole({ name: 'theirs' }));
    given({ spec: { roleARN } });
    await roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/theirs`], async () => {
      expect(await reconcile()).to.include({ reason: 'Creating' });
    });
  });

  it('reports why a read of AWS failed, but reports no call that this manager has stopped', async () => {
    given();
    session.onCall = () => aFailure({ code: 'NotDispatched', message: 'the lease runs out' });
    expect(await reconcile()).to.include({ kind: 'after', reason: 'NotNow' });
    expect(reasonOf('Ready')).to.equal(undefined);
    session.onCall = () => aFailure({ code: 'AccessDeniedException', statusCode: 403 });
    sync();
    await reconcile();
    expect(reasonOf('Ready')).to.equal('AccessDenied');
  });

  for (const [call, isThisCall] of [
    ['a read', (text: string) => text.startsWith('ListFargateProfiles')],
    ['a mutation', (text: string) => text.startsWith('CreateRole')],
    ['a read of the access entry', (text: string) => text.startsWith('DescribeCluster')],
  ] as const)
    it(`reports that ${call} has waited too long for the rate limit`, async () => {
      given();
      const cause = new DeadlineExceeded('the rate limit', 15_000);
      session.onCall = (text) =>
        isThisCall(text) ? aFailure({ code: 'NotDispatched', message: cause.message, cause }) : undefined;
      expect(await reconcile()).to.include({ kind: 'after', reason: 'AWSUnavailable' });
      expect(reasonOf('Ready')).to.equal('AWSUnavailable');
      expect(recordedEvents.filter((reason) => reason.startsWith('Failed'))).to.deep.equal([]);
    });

  describe('in the queue of its EKS cluster', () => {
    const other = anObject({ metadata: { name: 'other', uid: 'uid-of-other' } });
    const turnOfOther = () => clusterQueues.take(QUEUE, other, 'team-a_other', 'being created');
    const tooMany = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`tag-${index}`, 'x']));

    it('a third object is told at once what is wrong with its spec, before AWS is read', async () => {
      for (const name of ['a', 'b']) api.put({ metadata: { name } });
      given({ spec: { additionalTags: tooMany } });
      await reconcile();
      expect(requests).to.include('open a session');
      expect(requests.filter((each) => each.startsWith('Describe') || each.startsWith('Get'))).to.deep.equal([]);
      expect(reasonOf('Ready')).to.equal('TagsInvalid');
    });

    it('a third object that has lost its status in a move is read first, because it may be at rest', async () => {
      for (const name of ['a', 'b']) api.put({ metadata: { name } });
      aws.profiles.set(PROFILE, aSimulatedProfile());
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
      given({ record: FULL_RECORD });
      await reconcile();
      expect(reasonOf('Ready')).to.equal('Ready');
    });

    it("the change of an object that is gone counts as another client's change", async () => {
      given();
      await reconcile();
      stores.profiles.replaceAll([], '900');
      await reconcile();
      expect(turnOfOther()).to.include({ ahead: PROFILE, isForeign: true });
    });

    for (const [status, created] of [
      ['CREATING', false],
      ['ACTIVE', true],
    ] as const)
      it(`an object asks EKS after a start about the change of a sibling that status shows, which is ${status} by now`, async () => {
        const name = ProfileName.of('team-a_z');
        aws.profiles.set(name, aSimulatedProfile({ name, status, tags: { [OWNER_TAG]: 'team-a/z' } }));
        const reported = { ...RECORDED, profileName: name, profileStatus: 'CREATING' };
        api.put({ metadata: { name: 'z' }, record: { in: HERE }, status: reported });
        given();
        await reconcile();
        expect(session.calls).to.include(`DescribeFargateProfile ${name}`);
        expect(aws.profiles.has(PROFILE)).to.equal(created);
        expect(reasonOf('Ready')).to.equal(created ? 'Creating' : 'WaitingForSibling');
      });
  });

  it('adds no control plane finalizer while the creation of a profile is blocked', async () => {
    given({ metadata: { finalizers: [FINALIZER] }, record: FULL_RECORD });
    const key = { ...KEY, name: 'prod-control-plane' };
    api.server.storage.mergePatch(CONTROL_PLANE, key, { status: { ready: false } }, 'status');
    sync();
    await reconcile();
    expect(requests).to.include('open a session').and.to.not.include('add the control plane finalizer');
  });

  describe('with a failing API server', () => {
    /** Makes the fake API server return `answer` for the n-th PATCH whose path ends with `end`. */
    function atWrite(nth: number, end: string, answer: ReturnType<Intercept>): void {
      let seen = 0;
      const { intercept } = api.server;
      api.server.intercept = (request) =>
        request.method === 'PATCH' && request.path.endsWith(end) && ++seen === nth ? answer : intercept(request);
    }
    const forbidden = () =>
      json(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'forbidden' });

    it('reports a rejected write of the record in Ready, after the events of earlier changes', async () => {
      given();
      atWrite(4, '/web', forbidden());
      await reconcile();
      expect(session.calls.at(-1), 'no call follows the write').to.contain('AttachRolePolicy');
      expect(recordedEvents[0]).to.equal('SuccessfulIAMRoleCreation');
      expect(reasonOf('Ready')).to.equal('APIServerRefused');
    });

    it('throws after a write of the record without an answer, so that the queue retries, and records the events of earlier mutations', async () => {
      given();
      atWrite(4, '/web', new Error('socket hang up'));
      expect(await reconcile().catch(() => 'thrown')).to.equal('thrown');
      expect(session.calls.at(-1), 'no call follows the write').to.contain('AttachRolePolicy');
      expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  });
});
