import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { expect } from 'chai';
import { ProfileName, RoleArn } from '../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import { fieldAt, textAt } from '../../api/record.ts';
import {
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
  PROVISIONED_IN_ANNOTATION,
  decodeAWSFargateProfile,
} from '../../api/v1beta2/index.ts';
import { DeadlineExceeded } from '../../pkg/async/deadline.ts';
import type { CredentialsProblem, Session, SessionRequest } from '../../pkg/cloud/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { Store } from '../../pkg/kube/cache/store.ts';
import { type FakeKind, type Intercept, json } from '../../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Requeue } from '../../pkg/runtime/reconcile.ts';
import { LockQueue } from '../../pkg/runtime/queue/lock-queue.ts';
import { BY_ROLE, PROFILE_INDEXES, newTypedCaches, rolesOf } from '../shared/caches.ts';
import { RetryStore } from './retry/retry-store.ts';
import type { FinalizerResult } from '../shared/control-plane/control-plane-finalizer.ts';
import { ServedSchema } from '../shared/crd/served-schema.ts';
import { newLiveChecks } from './guards/checks/live-checks.ts';
import { clusterKeyOf } from './goal/inputs.ts';
import { Lanes } from './lane.ts';
import { newLiveInputs } from './guards/checks/live-inputs.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import { Reconciler } from './reconcile.ts';
import { type Api, CLUSTER, CONTROL_PLANE, PROFILE_KIND, newApi } from './testing/api.ts';
import type { ObjectParts } from './testing/builders.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  POD_EXECUTION_POLICY,
  PROFILE,
  RECORDED,
  ROLE,
  aFailure,
  anObject,
  desiredOf,
} from './testing/builders.ts';
import { FOREIGN_TAGS } from './testing/fixtures.ts';
import { LANE, aSimulatedProfile, aSimulatedRole, awsWith } from './testing/pass-state.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import { type SimulatedSession, sessionOn } from './testing/simulated-session.ts';

const KEY = { namespace: 'team-a', name: 'web' };
const CLUSTERS = { group: CLUSTER.group, version: 'v1beta2', plural: CLUSTER.plural };
const CONTROL_PLANES = { group: CONTROL_PLANE.group, version: 'v1beta2', plural: CONTROL_PLANE.plural };
const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };

/** Returns the finalizer or annotation that a merge patch of metadata changes. */
const changeIn = (body: string): string =>
  ['finalizers', 'deletion-requested', 'provisioned-in'].find((word) => body.includes(word)) ?? 'metadata';

// `plan`, `findObstacle` and `execute` have tests of their own. The tests of this file cover the order of the
// requests of a reconcile, and reconciles that end before they read or change AWS.
describe('Reconciler', () => {
  let api: Api;
  let aws: SimulatedAws;
  let session: SimulatedSession;
  let stores: { readonly profiles: Store; readonly clusters: Store; readonly controlPlanes: Store };
  let retryStore: RetryStore;
  let lanes: Lanes;
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
    stores = {
      profiles: new Store({
        name: 'profiles',
        logger,
        indexes: { ...PROFILE_INDEXES, [BY_ROLE]: (object) => rolesOf(decodeAWSFargateProfile(object)) },
      }),
      clusters: new Store({ name: 'clusters', logger }),
      controlPlanes: new Store({ name: 'control planes', logger }),
    };
    retryStore = new RetryStore(clock);
    lanes = new Lanes({
      clock,
      profiles: newTypedCaches(stores).profiles,
      isStoppedOtherwise: (object) => retryStore.isStoppedOtherwise(object),
      wake: ({ name }, place) => requests.push(`wake ${name} as ${place}`),
      overtaken: ({ name }) => requests.push(`overtake ${name}`),
    });
    roleLocks = new LockQueue((id) => void requests.push(`wake ${id}`));
    reconciler = new Reconciler({
      ...newTypedCaches(stores),
      clock,
      random,
      profileWriter: new ProfileWriter({
        client,
        store: stores.profiles,
        profiles: newTypedCaches(stores).profiles,
        onForeignChange: () => {},
      }),
      live: newLiveChecks({
        client,
        clock,
        clusters: () => CLUSTERS,
        clusterKeyOf: (object) => clusterKeyOf(object, { ...newTypedCaches(stores), limits: NO_LIMITS }),
        schema: { isSettled: () => true },
      }),
      readLiveInputs: newLiveInputs(client, { clusters: () => CLUSTERS, controlPlanes: () => CONTROL_PLANES }),
      readRoleSharers: async () => ({ possibleDeleter: undefined, sharers: [] }),
      schema: new ServedSchema({ client, clock, logger, metrics: { foreign: () => {} } }),
      limits: NO_LIMITS,
      sessions: {
        open: (request) => {
          requests.push('open a session');
          onSession(request);
          return credentialsProblem === undefined
            ? TE.right<CredentialsProblem, Session>(session)
            : TE.left(credentialsProblem);
        },
      },
      lanes,
      recordTurnWait: () => {},
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
  const pass = (): Promise<Requeue> =>
    reconciler.reconcile(KEY, { logger: new MemoryLogger(), signal: new AbortController().signal });

  it('adds both finalizers, opens a session, reads AWS, records the location, and writes status before each mutation', async () => {
    given();
    await pass();
    expect(requests).to.deep.equal([
      'PATCH finalizers',
      'add the control plane finalizer',
      'open a session',
      'DescribeFargateProfile',
      'GetRole',
      'DescribeCluster',
      'DescribeAccessEntry',
      'PATCH provisioned-in',
      'confirm the control plane finalizer',
      'PATCH status',
      'CreateRole',
      'AttachRolePolicy',
      'confirm the control plane finalizer',
      'PATCH status',
      'CreateFargateProfile',
      'PATCH status',
    ]);
    expect(now().metadata.finalizers).to.deep.equal([FINALIZER]);
    expect(reasonOf('Ready')).to.equal('Creating');
  });

  for (const [what, part, isRecorded] of [
    ['its profile', aSimulatedProfile({ status: 'CREATING' }), true],
    ['its role', aSimulatedRole(), true],
    ['nothing', undefined, false],
    ['a profile of others', aSimulatedProfile({ tags: FOREIGN_TAGS }), false],
    ['a role of others', aSimulatedRole({ tags: FOREIGN_TAGS }), false],
  ] as const)
    it(`${isRecorded ? 'records' : 'does not record'} the location if AWS has ${what} and nothing may be created`, async () => {
      finalizerResult = { kind: 'controlPlaneDeleting' };
      aws = awsWith(...(part === undefined ? [] : [part]));
      session = sessionOn(aws);
      given();
      await pass();
      expect(requests.includes('PATCH provisioned-in')).to.equal(isRecorded);
    });

  it('calls no AWS API for an object that the cache does not have yet, or that is gone', async () => {
    requests.length = 0;
    retryStore.update(anObject(), () => ({ confirmedCreate: 'x' }));
    expect(await pass()).to.include({ kind: 'backoff' });
    expect(retryStore.get(anObject())).to.deep.equal({ confirmedCreate: 'x' });
    stores.profiles.replaceAll([], '1');
    expect(await pass()).to.include({ kind: 'done' });
    expect(retryStore.get(anObject())).to.deep.equal({});
    expect(requests).to.deep.equal([]);
  });

  it('knows the result of a create request once EKS shows the profile', async () => {
    given({ status: { ...RECORDED, profileName: PROFILE, createRequestedAt: '2026-11-21T03:25:00Z' } });
    const before = decodeAWSFargateProfile(now());
    if (E.isLeft(before)) throw new Error('the object cannot be decoded');
    expect(retryStore.isCreateUnconfirmed(before.right)).to.equal(true);
    aws.profiles.set(PROFILE, aSimulatedProfile({ status: 'CREATING' }));
    await pass();
    expect(retryStore.isCreateUnconfirmed(before.right)).to.equal(false);
  });

  it('calls no AWS API for an object that another client has changed since the cache read it', async () => {
    given();
    api.change(now(), { metadata: { labels: { by: 'them' } } });
    requests.length = 0;
    expect(await pass()).to.deep.equal({ kind: 'conflict' });
    expect(requests).to.deep.equal(['PATCH finalizers']);
    expect(now().metadata.finalizers ?? []).to.deep.equal([]);
  });

  it('waits for half a minute after the Cluster of a deleted object has vanished', async () => {
    deleted({ status: { ...RECORDED, profileName: PROFILE } });
    api.server.storage.delete(CLUSTER, { ...KEY, name: 'prod' });
    sync();
    await pass();
    expect(reasonOf('Deleting')).to.equal('ClusterVanished');
    await api.clock.advance(30_000);
    await pass();
    expect(requests).to.include('open a session');
  });

  for (const isPaused of [false, true])
    it(`${isPaused ? 'does not delete' : 'deletes'} an object again whose deletion clusterctl move has interrupted, if the API server shows ${isPaused ? 'a' : 'no'} pause`, async () => {
      given({ metadata: { finalizers: [FINALIZER], annotations: { [DELETION_REQUESTED_ANNOTATION]: 'true' } } });
      if (isPaused) api.server.storage.mergePatch(CLUSTER, { ...KEY, name: 'prod' }, { spec: { paused: true } });
      await pass();
      expect(now().metadata.deletionTimestamp === undefined).to.equal(isPaused);
      expect(requests).to.not.include('open a session');
      expect(recordedEvents).to.deep.equal(isPaused ? [] : ['ResumedDeletion']);
    });

  describe('without usable credentials', () => {
    it('reports no problem when the manager only stops', async () => {
      given();
      credentialsProblem = { reason: 'Interrupted', message: 'the manager stops' };
      expect(await pass()).to.include({ kind: 'after', reason: 'NotNow' });
      expect(reasonOf('CredentialsReady')).to.equal(undefined);
    });

    const nowhere = { annotations: { [PROVISIONED_IN_ANNOTATION]: 'nowhere' } };
    const refused = { reason: 'IdentityNotAllowed', message: 'the identity does not allow the namespace' } as const;

    for (const [situation, parts, problem] of [
      ['without the mark that nothing was created', { metadata: { annotations: {} } }, refused],
      ['whose mark names a place', { metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: 'a/b/c' } } }, refused],
      ['with a recorded region', { metadata: nowhere, status: { region: 'eu-west-1' } }, refused],
      ['while the identities cannot be read', { metadata: nowhere }, { reason: 'IdentityUnreadable', message: 'no' }],
      [
        'while AWS does not answer',
        { metadata: nowhere },
        { reason: 'AccountUnknown', message: 'no', failure: aFailure({ service: 'sts', code: 'NoAnswer' }) },
      ],
    ] as const)
      it(`keeps a deleted object ${situation}`, async () => {
        deleted(parts);
        credentialsProblem = problem;
        await pass();
        expect(now().metadata.finalizers).to.deep.equal([FINALIZER]);
      });

    it('looks for a profile in AWS before it ends such a deletion with credentials', async () => {
      deleted({ metadata: nowhere });
      await pass();
      expect(session.calls).to.not.deep.equal([]);
      expect(requests).to.not.include('PATCH provisioned-in');
      expect(api.server.storage.get(PROFILE_KIND, KEY)).to.equal(undefined);
    });

    it('deletes a retained object of a torn down cluster if nothing was created in AWS', async () => {
      given({ metadata: { ...nowhere, finalizers: [FINALIZER] }, spec: { deletionPolicy: 'Retain' } });
      const key = { ...KEY, name: REFERENCE.name };
      api.server.storage.mergePatch(CONTROL_PLANE, key, { metadata: { finalizers: ['test.example.com/held'] } });
      api.server.storage.delete(CONTROL_PLANE, key);
      sync();
      credentialsProblem = refused;
      await pass();
      expect(now().metadata.deletionTimestamp).to.not.equal(undefined);
    });
  });

  for (const result of [{ kind: 'controlPlaneDeleting' }, { kind: 'rejected', reason: 'no' }] as const)
    it(`repairs the role that exists with a control plane finalizer that cannot be set: ${result.kind}`, async () => {
      finalizerResult = result;
      aws.profiles.set(PROFILE, aSimulatedProfile());
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole({ attached: [] }));
      const status = { ...RECORDED, profileName: PROFILE, role: { name: ROLE } };
      given({ metadata: { finalizers: [FINALIZER] }, status });
      await pass();
      expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
    });

  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T03:25:00Z' } as const;
  for (const [what, status, expected] of [
    ['a new object', {}, 'read'],
    ['an object at rest', { observedGeneration: 1, conditions: [ready] }, 'resync'],
    ['a changed object', { observedGeneration: 0, conditions: [ready] }, 'read'],
    ['an object whose profile EKS changes', { profileStatus: 'CREATING' }, 'poll'],
  ] as const)
    it(`gives the reads of ${what} the priority of a ${expected}`, async () => {
      given({ metadata: { finalizers: [FINALIZER] }, status });
      let found: unknown;
      onSession = ({ readPriority }) => (found = readPriority?.());
      await pass();
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
    await pass();
    expect(found).to.deep.equal(['resync', 'read']);
  });

  it('retries soon while another pass decides about the same role', async () => {
    given();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const other = roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/${ROLE.toLowerCase()}`], () => held);
    expect(await pass()).to.include({ kind: 'after', reason: 'NotNow' });
    expect(session.calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
    release();
    await other;
    expect(requests).to.include('wake team-a/web');
    sync();
    await pass();
    expect(session.calls.join()).to.contain('CreateRole');
  });

  it('locks the role that an earlier version of Cluster API Provider AWS computed, if the profile uses it', async () => {
    given();
    const [, formerName = ''] = desiredOf(anObject()).identity.capaRoleNames;
    const podExecutionRoleArn = `arn:aws:iam::${ACCOUNT}:role/${formerName}`;
    aws.profiles.set(PROFILE, aSimulatedProfile({ podExecutionRoleArn }));
    await roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/${formerName.toLowerCase()}`], async () => {
      expect(await pass()).to.include({ reason: 'NotNow' });
    });
  });

  it('sends an optional change that AWS refused again within minutes', async () => {
    aws.profiles.set(PROFILE, aSimulatedProfile());
    aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
    given({ spec: { additionalTags: { team: 'web' } } });
    session.onCall = (operation) =>
      operation === 'TagResource' ? aFailure({ code: 'AccessDeniedException', statusCode: 403 }) : undefined;
    const next = await pass();
    expect(next).to.include({ kind: 'after', reason: 'AccessDenied', priority: 'low' });
    expect(next.kind === 'after' && next.delay).to.be.within(1_000, 600_000);
    expect(reasonOf('Ready')).to.equal('Ready');
  });

  it('locks no role that the object brings along', async () => {
    const roleARN = RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/theirs`);
    aws.roles.set('theirs', aSimulatedRole({ name: 'theirs' }));
    given({ spec: { roleARN } });
    await roleLocks.tryRun('team-a/api', [`${ACCOUNT}/team-a/theirs`], async () => {
      expect(await pass()).to.include({ reason: 'Creating' });
    });
  });

  it('reports why a read of AWS failed, but reports no call that this manager has stopped', async () => {
    given();
    session.onCall = () => aFailure({ code: 'NotDispatched', message: 'the lease runs out' });
    expect(await pass()).to.include({ kind: 'after', reason: 'NotNow' });
    expect(reasonOf('Ready')).to.equal(undefined);
    session.onCall = () => aFailure({ code: 'AccessDeniedException', statusCode: 403 });
    sync();
    await pass();
    expect(reasonOf('Ready')).to.equal('AccessDenied');
  });

  for (const [call, isThisCall] of [
    ['a read', (text: string) => text.startsWith('DescribeFargateProfile')],
    ['a mutation', (text: string) => text.startsWith('CreateRole')],
    ['a read of the access entry', (text: string) => text.startsWith('DescribeCluster')],
  ] as const)
    it(`reports that ${call} has waited too long for the rate limit`, async () => {
      given();
      const cause = new DeadlineExceeded('the rate limit', 15_000);
      session.onCall = (text) =>
        isThisCall(text) ? aFailure({ code: 'NotDispatched', message: cause.message, cause }) : undefined;
      expect(await pass()).to.include({ kind: 'after', reason: 'AWSUnavailable' });
      expect(reasonOf('Ready')).to.equal('AWSUnavailable');
      expect(recordedEvents.filter((reason) => reason.startsWith('Failed'))).to.deep.equal([]);
    });

  for (const [id, reason] of [
    ['AROAEXAMPLE', 'AWSUnavailable'],
    ['AROAFORMER', 'RestoringRole'],
  ] as const)
    it(`reports ${reason} when the access entry of role ${id} cannot be read, because a recreated role ends Ready`, async () => {
      aws.profiles.set(PROFILE, aSimulatedProfile());
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
      given({ status: { ...RECORDED, profileName: PROFILE, role: { name: ROLE, id, managed: true } } });
      session.onCall = (operation) => (operation === 'DescribeAccessEntry' ? aFailure() : undefined);
      await pass();
      expect(reasonOf('Ready')).to.equal(reason);
      expect(session.calls.filter((call) => call.includes('AccessEntry '))).to.have.length(1);
    });

  describe('in the lane of its EKS cluster', () => {
    const other = anObject({ metadata: { name: 'other', uid: 'uid-of-other' } });
    const turnOfOther = () => lanes.take(LANE, other, 'team-a_other');
    const tooMany = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`tag-${index}`, 'x']));

    it('a third object is told at once what is wrong with its spec, before AWS is read', async () => {
      for (const name of ['a', 'b']) api.put({ metadata: { name } });
      given({ spec: { additionalTags: tooMany } });
      await pass();
      expect(requests).to.include('open a session');
      expect(requests.filter((each) => each.startsWith('Describe') || each.startsWith('Get'))).to.deep.equal([]);
      expect(reasonOf('Ready')).to.equal('TagsInvalid');
    });

    it('a third object that has lost its status is read first, because it may be at rest', async () => {
      for (const name of ['a', 'b']) api.put({ metadata: { name } });
      aws.profiles.set(PROFILE, aSimulatedProfile());
      aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
      given({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: HERE } } });
      await pass();
      expect(reasonOf('Ready')).to.equal('Ready');
    });

    it('an object that is gone leaves its change to strangers', async () => {
      given();
      await pass();
      stores.profiles.replaceAll([], '900');
      await pass();
      expect(turnOfOther()).to.include({ ahead: PROFILE, isOfStranger: true });
    });

    for (const [status, created] of [
      ['CREATING', false],
      ['ACTIVE', true],
    ] as const)
      it(`an object asks EKS after a start about the change on record of a sibling, which is ${status} by now`, async () => {
        const name = ProfileName.of('team-a_z');
        aws.profiles.set(name, aSimulatedProfile({ name, status }));
        const recorded = { ...RECORDED, profileName: name, profileStatus: 'CREATING' };
        api.put({ metadata: { name: 'z' }, status: recorded });
        given();
        await pass();
        expect(session.calls).to.include(`DescribeFargateProfile ${name}`);
        expect(aws.profiles.has(PROFILE)).to.equal(created);
        expect(reasonOf('Ready')).to.equal(created ? 'Creating' : 'WaitingForSibling');
      });
  });

  it('adds no control plane finalizer while the creation of a profile is blocked', async () => {
    given({ metadata: { finalizers: [FINALIZER] }, status: { ...RECORDED, profileName: PROFILE } });
    const key = { ...KEY, name: 'prod-control-plane' };
    api.server.storage.mergePatch(CONTROL_PLANE, key, { status: { ready: false } }, 'status');
    sync();
    await pass();
    expect(requests).to.include('open a session').and.to.not.include('add the control plane finalizer');
  });

  describe('with a failing API server', () => {
    /** Makes the fake API server give `answer` to the n-th PATCH whose path ends with `end`. */
    function atWrite(nth: number, end: string, answer: ReturnType<Intercept>): void {
      let seen = 0;
      const { intercept } = api.server;
      api.server.intercept = (request) =>
        request.method === 'PATCH' && request.path.endsWith(end) && ++seen === nth ? answer : intercept(request);
    }
    const forbidden = () =>
      json(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'forbidden' });

    it('reports a rejected status write in Ready, after the events of earlier mutations', async () => {
      given();
      atWrite(2, '/status', forbidden());
      await pass();
      expect(session.calls.at(-1), 'no call follows the write').to.contain('AttachRolePolicy');
      expect(recordedEvents[0]).to.equal('SuccessfulIAMRoleCreation');
      expect(reasonOf('Ready')).to.equal('APIServerRefused');
    });

    it('knows after a lost status that it has sent nothing, if it had just recorded the location', async () => {
      given();
      atWrite(1, '/status', new Error('socket hang up'));
      await pass().catch(() => 'thrown');
      expect(session.calls.join()).not.to.contain('Create');
      const after = decodeAWSFargateProfile(api.server.storage.delete(PROFILE_KIND, KEY) ?? now());
      expect(E.isRight(after) && retryStore.isCreateUnconfirmed(after.right), 'in a deletion').to.equal(false);
    });

    it('changes nothing in AWS if the location cannot be recorded because another client wrote first', async () => {
      given();
      atWrite(
        2,
        '/web',
        json(409, { kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409, message: 'no' }),
      );
      expect(await pass()).to.have.property('kind', 'conflict');
      expect(session.calls.join()).not.to.contain('Create');
    });

    it('throws after an unanswered status write, so that the queue retries, and records the events of earlier mutations', async () => {
      given();
      atWrite(2, '/status', new Error('socket hang up'));
      expect(await pass().catch(() => 'thrown')).to.equal('thrown');
      expect(session.calls.at(-1), 'no call follows the write').to.contain('AttachRolePolicy');
      expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  });
});
