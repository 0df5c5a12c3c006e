import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { Store, TypedStore } from 'controller-runtime/cache';
import { keyOf, type KubeObject } from 'controller-runtime/client';
import type { Requeue } from 'controller-runtime/controller';
import { fieldAt, textAt } from 'controller-runtime/json';
import { json, MemoryLogger } from 'controller-runtime/testing';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { newTypedCaches } from '../shared/caches.ts';
import type { EventSpec } from './report/step-events.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import { type Api, PROFILE_KIND, newApi } from './testing/api.ts';
import { onlyUnderOurSchema, reportUndecodable } from './unreadable.ts';

const { signal } = new AbortController();
const WORDS =
  'The controller cannot read this AWSFargateProfile: spec.clusterName: expected string, got 7. Fix or remove these fields. Until then the controller does nothing for this object.';

describe('reportUndecodable', () => {
  let api: Api;
  let told: EventSpec[];

  beforeEach(() => {
    api = newApi();
    told = [];
  });

  /** Creates an AWSFargateProfile whose spec another client has made undecodable. `status` can be any value. */
  function broken(status?: unknown): KubeObject {
    const object = api.put();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { spec: { clusterName: 7 } });
    if (status !== undefined) api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status }, 'status');
    return now();
  }
  const now = (): KubeObject =>
    api.server.storage.get(PROFILE_KIND, { namespace: 'team-a', name: 'web' }) ??
    expect.fail('the object does not exist');
  const conditions = (): readonly string[] => {
    const all = fieldAt(now()['status'], 'conditions');
    return (Array.isArray(all) ? all : []).map((each: unknown) => {
      const [type, status, reason, message] = ['type', 'status', 'reason', 'message'].map(
        (key) => textAt(each, key) ?? '',
      );
      return `${type}=${status} ${reason}: ${message}`;
    });
  };

  async function report(raw: KubeObject): Promise<Requeue> {
    const decoded = decodeAWSFargateProfile(raw);
    if (E.isRight(decoded)) return expect.fail('the object can be decoded');
    const logger = new MemoryLogger();
    const store = new Store({ name: 'profiles', logger });
    const profiles = new TypedStore(store, decodeAWSFargateProfile);
    const profileWriter = new ProfileWriter({ client: api.client, store, profiles, onForeignChange: () => {} });
    const recordEvent = (_object: unknown, event: EventSpec): number => told.push(event);
    return reportUndecodable({ clock: api.clock, profileWriter, recordEvent }, raw, decoded.left, { logger, signal });
  }

  it('reports the invalid field in conditions and in an event, and requeues the object after ten minutes', async () => {
    expect(await report(broken())).to.deep.equal({ kind: 'after', delay: 600_000, reason: 'InvalidObject' });
    expect(conditions()).to.deep.equal([
      `Ready=False InvalidObject: ${WORDS}`,
      'Reconciling=False Stalled: ',
      `Stalled=True InvalidObject: ${WORDS}`,
    ]);
    expect(told).to.deep.equal([{ type: 'Warning', reason: 'InvalidObject', message: WORDS }]);
  });

  it('records one event per spec, and writes the same status once', async () => {
    await report(broken());
    const { resourceVersion } = now().metadata;
    await report(now());
    expect(now().metadata.resourceVersion).to.equal(resourceVersion);
    expect(told).to.have.length(1);
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(now()), { spec: { roleName: 7 } });
    await report(now());
    expect(told, 'with another spec').to.have.length(2);
  });

  for (const [what, status] of [
    ['a string instead of a list', { conditions: 'none' }],
    [
      'a list of invalid conditions',
      { conditions: [7, { type: 'Ready' }, { type: 'Ready', status: 'perhaps', lastTransitionTime: '' }] },
    ],
  ] as const)
    it(`replaces status.conditions when the field is ${what}`, async () => {
      await report(broken(status));
      expect(conditions()).to.have.length(3);
    });

  it('keeps the conditions that it does not set', async () => {
    const lastTransitionTime = '2026-11-20T10:00:00Z';
    await report(
      broken({
        conditions: [{ type: 'Paused', status: 'False', reason: 'NotPaused', message: '', lastTransitionTime }],
      }),
    );
    expect(conditions()).to.include('Paused=False NotPaused: ').and.to.have.length(4);
  });

  it('returns a conflict when another client has written the object before', async () => {
    const raw = broken();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(raw), { metadata: { labels: { by: 'them' } } });
    expect(await report(raw)).to.deep.equal({ kind: 'conflict' });
    expect(now()).to.not.have.property('status');
  });

  it('records an event at each attempt when the API server rejects the status', async () => {
    const raw = broken();
    api.server.intercept = ({ method }) =>
      method === 'PATCH'
        ? json(422, { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message: 'spec.clusterName' })
        : undefined;
    expect(await report(raw)).to.deep.equal({ kind: 'after', delay: 600_000, reason: 'InvalidObject' });
    await report(raw);
    expect(told).to.have.length(2);
  });
});

describe('onlyUnderOurSchema', () => {
  it('records one event for each message about an object, and another one after the object was recreated', async () => {
    const api = newApi();
    const logger = new MemoryLogger();
    const profiles = new Store({ name: 'profiles', logger });
    const clusters = new Store({ name: 'clusters', logger });
    clusters.replaceAll([api.putCluster()], '100');
    const controlPlanes = new Store({ name: 'control planes', logger });
    let missing = 'spec.roleARN';
    const events: string[] = [];
    const caches = newTypedCaches({ profiles, clusters, controlPlanes });
    const reconcile = onlyUnderOurSchema(async () => ({ kind: 'done' }), {
      ...caches,
      clock: api.clock,
      limits: NO_LIMITS,
      profileWriter: new ProfileWriter({
        client: api.client,
        store: profiles,
        profiles: caches.profiles,
        onForeignChange: () => {},
      }),
      schema: { checkRecently: async () => ({ kind: 'foreign', provider: undefined, missing: [missing] }) },
      recordEvent: (_object, { message }) => events.push(message),
    });
    const object = api.put();
    const stored = api.server.storage.get(PROFILE_KIND, keyOf(object)) ?? expect.fail('the object does not exist');
    const eventsWith = async (objects: readonly KubeObject[]): Promise<number> => {
      profiles.replaceAll(objects, '100');
      await reconcile(keyOf(object), { logger, signal });
      return events.length;
    };

    expect(await eventsWith([stored])).to.equal(1);
    expect(await eventsWith([stored])).to.equal(1);
    missing = 'spec.deletionPolicy';
    expect(await eventsWith([stored])).to.equal(2);
    expect(await eventsWith([])).to.equal(2);
    expect(await eventsWith([stored])).to.equal(3);
  });
});
