import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { fieldAt, textAt } from '../../api/record.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { keyOf } from '../../pkg/kube/paths.ts';
import { Store } from '../../pkg/kube/store.ts';
import { json } from '../../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Requeue } from '../../pkg/runtime/types.ts';
import type { EventSpec } from './events.ts';
import { ProfileObjects } from './objects.ts';
import type { Api } from './testing/api.ts';
import { PROFILE_KIND, newApi } from './testing/api.ts';
import { reportUndecodable } from './undecodable.ts';

const { signal } = new AbortController();
const WORDS =
  'The object cannot be read: spec.clusterName: expected string, got 7. Correct that; nothing is done for the object until then.';

describe('an object that cannot be read', () => {
  let api: Api;
  let told: EventSpec[];

  beforeEach(() => {
    api = newApi();
    told = [];
  });

  /** As somebody left it, with a status of any kind. */
  function broken(status?: unknown): KubeObject {
    const object = api.put();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { spec: { clusterName: 7 } });
    if (status !== undefined) api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status }, 'status');
    return now();
  }
  const now = (): KubeObject =>
    api.server.storage.get(PROFILE_KIND, { namespace: 'team-a', name: 'web' }) ?? expect.fail('it is gone');
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
    if (E.isRight(decoded)) return expect.fail('it can be read');
    const logger = new MemoryLogger();
    const store = new Store({ name: 'profiles', logger });
    const objects = new ProfileObjects({ client: api.client, store, onNews: () => {} });
    const tell = (_object: unknown, event: EventSpec): number => told.push(event);
    return reportUndecodable({ clock: api.clock, objects, tell }, raw, decoded.left, { logger, signal });
  }

  it('says so in its conditions and by an event, and is looked at again after ten minutes', async () => {
    expect(await report(broken())).to.deep.equal({ kind: 'after', delay: 600_000, why: 'InvalidObject' });
    expect(conditions()).to.deep.equal([
      `Ready=False InvalidObject: ${WORDS}`,
      'Reconciling=False Stalled: ',
      `Stalled=True InvalidObject: ${WORDS}`,
    ]);
    expect(told).to.deep.equal([{ type: 'Warning', reason: 'InvalidObject', message: WORDS }]);
  });

  it('says it once, and writes nothing that stands already', async () => {
    await report(broken());
    const { resourceVersion } = now().metadata;
    await report(now());
    expect(now().metadata.resourceVersion).to.equal(resourceVersion);
    expect(told).to.have.length(1);
  });

  for (const [what, status] of [
    ['no list', { conditions: 'none' }],
    [
      'no conditions',
      { conditions: [7, { type: 'Ready' }, { type: 'Ready', status: 'perhaps', lastTransitionTime: '' }] },
    ],
  ] as const)
    it(`takes nothing of its status for granted: conditions that are ${what}`, async () => {
      await report(broken(status));
      expect(conditions()).to.have.length(3);
    });

  it('keeps what else its conditions say', async () => {
    const paused = {
      type: 'Paused',
      status: 'False',
      reason: 'NotPaused',
      message: '',
      lastTransitionTime: '2026-11-20T10:00:00Z',
    };
    await report(broken({ conditions: [paused] }));
    expect(conditions()).to.include('Paused=False NotPaused: ').and.to.have.length(4);
  });

  it('is looked at again where somebody else wrote first', async () => {
    const raw = broken();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(raw), { metadata: { labels: { by: 'them' } } });
    expect(await report(raw)).to.deep.equal({ kind: 'conflict' });
    expect(now()).to.not.have.property('status');
  });

  it('says it by events alone, each time, where the API server refuses every write of it', async () => {
    const raw = broken();
    api.server.intercept = ({ method }) =>
      method === 'PATCH'
        ? json(422, { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message: 'spec.clusterName' })
        : undefined;
    expect(await report(raw)).to.deep.equal({ kind: 'after', delay: 600_000, why: 'InvalidObject' });
    await report(raw);
    expect(told).to.have.length(2);
  });
});
