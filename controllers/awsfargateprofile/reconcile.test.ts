import * as TE from 'fp-ts/lib/TaskEither.js';
import { expect } from 'chai';
import { AccountId } from '../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import { fieldAt, textAt } from '../../api/record.ts';
import { DELETION_REQUESTED_ANNOTATION, FINALIZER, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { CredentialsProblem, Session } from '../../pkg/cloud/types.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../pkg/kube/store.ts';
import { json } from '../../pkg/kube/testing/fake-api-server.ts';
import type { FakeKind, Intercept } from '../../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { Turns } from '../../pkg/runtime/turns.ts';
import type { Requeue } from '../../pkg/runtime/types.ts';
import { KeyedMutex } from '../../pkg/runtime/keyed-mutex.ts';
import { BY_CLUSTER, clusterOf } from '../caches.ts';
import type { Guarding } from '../guard.ts';
import { ServedSchema } from '../served-schema.ts';
import { liveReads } from './live.ts';
import { ProfileObjects } from './objects.ts';
import { Reconciler } from './reconcile.ts';
import type { Api } from './testing/api.ts';
import { CLUSTER, CONTROL_PLANE, PROFILE_KIND, newApi } from './testing/api.ts';
import type { ObjectParts } from './testing/builders.ts';
import { ACCOUNT, EKS_CLUSTER, POD_EXECUTION_POLICY, PROFILE, ROLE, aFailure } from './testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith } from './testing/flight.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import type { SimulatedSession } from './testing/simulated-session.ts';
import { sessionOn } from './testing/simulated-session.ts';

const KEY = { namespace: 'team-a', name: 'web' };
const CLUSTERS = { group: CLUSTER.group, version: 'v1beta2', plural: CLUSTER.plural };
const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };
const HERE = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };

/** What a patch of metadata is for. */
const whatOf = (body: string): string =>
  ['finalizers', 'deletion-requested', 'provisioned-in'].find((word) => body.includes(word)) ?? 'metadata';

// What a pass does with AWS is the matter of decide, of preflight and of steps; here is in which order it comes there, and
// what keeps it from coming there.
describe('Reconciler', () => {
  let api: Api;
  let aws: SimulatedAws;
  let session: SimulatedSession;
  let stores: { readonly profiles: Store; readonly clusters: Store; readonly controlPlanes: Store };
  let roles: KeyedMutex;
  let told: string[];
  let reconciler: Reconciler;
  /** What a pass asked for, in order: writes to the API server, the guard, the session, calls to AWS. */
  let asked: string[];
  let guarding: Guarding;
  let problem: CredentialsProblem | undefined;

  beforeEach(() => {
    api = newApi();
    aws = awsWith();
    session = sessionOn(aws);
    asked = [];
    told = [];
    guarding = { kind: 'guarded' };
    problem = undefined;
    session.onCall = (operation) => {
      asked.push(operation);
      return undefined;
    };
    api.server.intercept = ({ method, path, body = '' }) => {
      if (method !== 'GET') asked.push(`${method} ${path.endsWith('/status') ? 'status' : whatOf(body)}`);
      return undefined;
    };
    const { client, clock, random } = api;
    const logger = new MemoryLogger();
    stores = {
      profiles: new Store({ name: 'profiles', logger, indexes: { [BY_CLUSTER]: clusterOf } }),
      clusters: new Store({ name: 'clusters', logger }),
      controlPlanes: new Store({ name: 'control planes', logger }),
    };
    roles = new KeyedMutex();
    reconciler = new Reconciler({
      ...stores,
      clock,
      random,
      objects: new ProfileObjects({ client, store: stores.profiles, onNews: () => {} }),
      live: liveReads(client, () => CLUSTERS),
      schema: new ServedSchema({ client, clock, logger, metrics: { foreign: () => {} } }),
      sessions: {
        open: () => {
          asked.push('open a session');
          return problem === undefined ? TE.right<CredentialsProblem, Session>(session) : TE.left(problem);
        },
      },
      turns: new Turns({ clock, wake: () => {} }),
      guardOf: async () => {
        asked.push('put the guard on');
        return guarding;
      },
      roles,
      leadership: { remaining: () => 15_000 },
      tell: (_object, { reason }) => void told.push(reason),
      resync: 600_000,
    });
  });

  const now = (): KubeObject => api.server.storage.get(PROFILE_KIND, KEY) ?? expect.fail('it is gone');
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

  /** An object whose Cluster and control plane are there and at rest. */
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
    asked.length = 0;
  }
  const pass = (): Promise<Requeue> =>
    reconciler.reconcile(KEY, { logger: new MemoryLogger(), signal: new AbortController().signal });

  it('comes to AWS in one order: finalizer, guard, session, a look, whereabouts; and a record before what it makes', async () => {
    given();
    await pass();
    expect(asked).to.deep.equal([
      'PATCH finalizers',
      'put the guard on',
      'open a session',
      'DescribeFargateProfile',
      'GetRole',
      'PATCH provisioned-in',
      'PATCH status',
      'CreateRole',
      'PATCH status',
      'AttachRolePolicy',
      'PATCH status',
      'CreateFargateProfile',
      'PATCH status',
    ]);
    expect(now().metadata.finalizers).to.deep.equal([FINALIZER]);
    expect(reasonOf('Ready')).to.equal('Creating');
  });

  it('lets an object go only when nothing of it is left in AWS', async () => {
    aws.profiles.set(PROFILE, aSimulatedProfile());
    aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
    deleted({ status: HERE });
    await pass();
    expect(asked.slice(-3)).to.deep.equal(['PATCH deletion-requested', 'DeleteFargateProfile', 'PATCH status']);
    aws.tick();
    sync();
    await pass();
    expect(aws.roles.size).to.equal(0);
    expect(asked.at(-2)).to.equal('DeleteRole');
    expect(api.server.storage.get(PROFILE_KIND, KEY), 'then its finalizer goes, and it with that').to.equal(undefined);
  });

  describe('does nothing in AWS, and writes nothing', () => {
    const nothing = async (expected: Partial<Requeue>): Promise<void> => {
      asked.length = 0;
      expect(await pass()).to.include(expected);
      expect(asked).to.deep.equal([]);
    };

    it('for an object that is not known yet, or gone', async () => {
      await nothing({ kind: 'backoff' });
      stores.profiles.replaceAll([], '1');
      await nothing({ kind: 'done' });
    });

    it('for a deleted object without our finalizer', async () => {
      deleted({ metadata: { finalizers: ['somebody.else/finalizer'] } });
      await nothing({ kind: 'done' });
    });

    it('for an object that somebody changed meanwhile', async () => {
      given();
      api.change(now(), { metadata: { labels: { by: 'them' } } });
      asked.length = 0;
      expect(await pass()).to.deep.equal({ kind: 'conflict' });
      expect(asked).to.deep.equal(['PATCH finalizers']);
      expect(now().metadata.finalizers ?? []).to.deep.equal([]);
    });
  });

  describe('does nothing in AWS, and says why', () => {
    const says = async (type: string, reason: string): Promise<void> => {
      await pass();
      expect(asked.filter((what) => !what.startsWith('PATCH'))).to.deep.equal([]);
      expect(reasonOf(type)).to.equal(reason);
    };

    it('for a paused object', async () => {
      given({ metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } });
      await says('Paused', 'Paused');
    });

    it('for an object whose control plane is not there', async () => {
      api.putCluster({ controlPlaneRef: REFERENCE });
      api.put();
      sync();
      await says('Ready', 'WaitingForEKSControlPlane');
    });

    it('for half a minute of an object whose Cluster has vanished', async () => {
      deleted({ status: { ...HERE, profileName: PROFILE } });
      api.server.storage.delete(CLUSTER, { ...KEY, name: 'prod' });
      sync();
      await says('Deleting', 'ClusterVanished');
      await api.clock.advance(29_999);
      await says('Deleting', 'ClusterVanished');
      await api.clock.advance(1);
      await pass();
      expect(asked).to.include('open a session');
    });

    it('for an object that cannot be read', async () => {
      given();
      api.server.storage.mergePatch(PROFILE_KIND, KEY, { spec: { clusterName: 7 } });
      sync();
      await says('Stalled', 'InvalidObject');
    });
  });

  it('tells the API server again of a deletion that a move has interrupted', async () => {
    given({ metadata: { finalizers: [FINALIZER], annotations: { [DELETION_REQUESTED_ANNOTATION]: 'true' } } });
    await pass();
    expect(now().metadata.deletionTimestamp).to.not.equal(undefined);
    expect(asked).to.not.include('open a session');
  });

  describe('without credentials', () => {
    it('says what is wrong with them', async () => {
      given();
      problem = { reason: 'CredentialsMissing', message: 'the manager has no AWS credentials' };
      await pass();
      expect(reasonOf('CredentialsReady')).to.equal('CredentialsMissing');
      expect(session.calls).to.deep.equal([]);
    });

    it('says nothing of them where it was only interrupted', async () => {
      given();
      problem = { reason: 'Interrupted', message: 'the manager stops' };
      expect(await pass()).to.include({ kind: 'after', why: 'the manager stops' });
      expect(reasonOf('CredentialsReady')).to.equal(undefined);
    });

    it('of the account where the object is nothing is looked for, since nothing would be found', async () => {
      deleted({ status: { ...HERE, account: AccountId.of('444455556666') } });
      await pass();
      expect(session.calls).to.deep.equal([]);
      expect(reasonOf('CredentialsReady')).to.equal('WrongAccount');
    });
  });

  for (const [what, guard, reason] of [
    ['is on its way out', { kind: 'leaving' }, 'ClusterDeleting'],
    ['does not take the guard', { kind: 'refused', why: 'no' }, 'GuardRefused'],
  ] as const)
    describe(`for a control plane that ${what}`, () => {
      beforeEach(() => (guarding = guard));

      it('makes nothing', async () => {
        given();
        await pass();
        expect(asked.filter((each) => each.startsWith('Create'))).to.deep.equal([]);
        expect(reasonOf('Ready')).to.equal(reason);
      });

      it('mends what is there all the same', async () => {
        aws.profiles.set(PROFILE, aSimulatedProfile());
        aws.roles.set(ROLE.toLowerCase(), aSimulatedRole({ attached: [] }));
        given({
          metadata: { finalizers: [FINALIZER] },
          status: { ...HERE, profileName: PROFILE, role: { name: ROLE } },
        });
        await pass();
        expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
      });
    });

  it('leaves the decision about a role to who is at it, and looks again in a moment', async () => {
    given();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const other = roles.run([`${ACCOUNT}/${ROLE.toLowerCase()}`], new AbortController().signal, () => held);
    expect(await pass()).to.include({ kind: 'after', why: 'another profile decides about the same role' });
    expect(session.calls).to.deep.equal([]);
    release();
    await other;
    sync();
    await pass();
    expect(session.calls).to.not.deep.equal([]);
  });

  it('says what a look at AWS failed of, and nothing where the call was not even sent', async () => {
    given();
    session.onCall = () => aFailure({ code: 'NotDispatched', message: 'the rate limit' });
    expect(await pass()).to.include({ kind: 'after', why: 'the rate limit' });
    expect(reasonOf('Ready')).to.equal(undefined);
    session.onCall = () => aFailure({ code: 'AccessDeniedException', statusCode: 403 });
    sync();
    await pass();
    expect(reasonOf('Ready')).to.equal('AccessDenied');
  });

  it('asks for no guard where nothing may be created anyway', async () => {
    given({ metadata: { finalizers: [FINALIZER] }, status: { ...HERE, profileName: PROFILE } });
    const key = { ...KEY, name: 'prod-control-plane' };
    api.server.storage.mergePatch(CONTROL_PLANE, key, { status: { ready: false } }, 'status');
    sync();
    await pass();
    expect(asked).to.include('open a session').and.to.not.include('put the guard on');
  });

  describe('where the API server', () => {
    /** What becomes of the n-th write whose path ends so. */
    function atWrite(nth: number, end: string, answer: ReturnType<Intercept>): void {
      let seen = 0;
      const { intercept } = api.server;
      api.server.intercept = (request) =>
        request.method === 'PATCH' && request.path.endsWith(end) && ++seen === nth ? answer : intercept(request);
    }
    const forbidden = () =>
      json(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'forbidden' });

    it('refuses the finalizer, says so on the object', async () => {
      given();
      atWrite(1, '/web', forbidden());
      await pass();
      expect(asked).to.deep.equal(['PATCH status']);
      expect(reasonOf('Ready')).to.equal('APIServerRefused');
    });

    it('refuses a record, tells what was done before it, and says so', async () => {
      given();
      atWrite(2, '/status', forbidden());
      await pass();
      expect(session.calls.at(-1), 'nothing comes after it').to.equal(`CreateRole ${ROLE}`);
      expect(told[0]).to.equal('SuccessfulIAMRoleCreation');
      expect(reasonOf('Ready')).to.equal('APIServerRefused');
    });

    it('does not answer to a record, tells what was done before it, and throws, for the queue to try again', async () => {
      given();
      atWrite(2, '/status', new Error('socket hang up'));
      expect(await pass().catch(() => 'thrown')).to.equal('thrown');
      expect(session.calls.at(-1), 'nothing comes after it').to.equal(`CreateRole ${ROLE}`);
      expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  });
});
