import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import type { Requeue } from 'controller-runtime/controller';
import { json } from 'controller-runtime/testing';
import { errorMessage } from 'controller-runtime/text';
import { CLUSTER_KIND } from '../../api/external/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import { CLUSTER, CONTROL_PLANE, PROFILE_KIND } from '../awsfargateprofile/testing/api.ts';
import { CACHES, KEY, REFERENCE, TeardownFixture } from './testing/fixture.ts';

const MINUTE = 60_000;

describe('a teardown', () => {
  let teardown: TeardownFixture;
  beforeEach(() => {
    teardown = new TeardownFixture();
  });

  it('deletes the profiles of a torn down cluster, with one Event per profile, and no other profiles', async () => {
    teardown.putTornDownCluster();
    for (const name of ['web', 'batch']) teardown.putProfile(name);
    teardown.putProfile('elsewhere', 'stage');
    teardown.sync();
    expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
    expect(teardown.deletedProfiles()).to.have.members(['web', 'batch']);
    const words =
      'DeletedWithCluster: The controller deletes this AWSFargateProfile, because AWSManagedControlPlane team-a/prod-control-plane is being deleted';
    expect(teardown.events).to.have.members([`web ${words}`, `batch ${words}`]);
    // The cache does not show the deletions yet. The second reconcile sees them in the API server and does not delete
    // anything.
    await teardown.reconcile();
    expect(teardown.events).to.have.length(2);
  });

  it('does not delete a new profile with the name of a cached profile', async () => {
    teardown.putTornDownCluster();
    const known = teardown.putProfile('web');
    teardown.sync();
    teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(known), { metadata: { finalizers: [] } });
    teardown.api.server.storage.delete(PROFILE_KIND, keyOf(known));
    teardown.putProfile('web');
    await teardown.reconcile();
    expect(teardown.deletedProfiles()).to.deep.equal([]);
  });

  it('names the Cluster as the cause when there is no control plane', async () => {
    const cluster = teardown.api.putCluster({}, { finalizers: ['cluster.cluster.x-k8s.io'] });
    teardown.api.server.storage.delete(CLUSTER, keyOf(cluster));
    teardown.putProfile('web');
    teardown.sync();
    await teardown.reconcile();
    expect(teardown.events[0]).to.contain(`${CLUSTER_KIND} team-a/prod is being deleted`);
  });

  describe('deletes nothing', () => {
    const expectNothing = async (expected: Partial<Requeue>): Promise<void> => {
      expect(await teardown.reconcile()).to.include(expected);
      expect([teardown.writes(), teardown.events]).to.deep.equal([[], []]);
    };

    for (const missing of CACHES)
      it(`before the cache of ${missing} is filled`, async () => {
        teardown.putTornDownCluster();
        teardown.putProfile('web');
        teardown.sync(...CACHES.filter((kind) => kind !== missing));
        await expectNothing({ kind: 'backoff' });
      });

    it('once the lease may have expired', async () => {
      teardown.startWith('web');
      teardown.remaining = () => 0;
      await expectNothing({ kind: 'backoff', reason: 'the lease may have run out' });
    });

    const later = { kind: 'after', delay: 15_000 } as const;
    for (const [when, schema] of [
      ['under a foreign schema', { kind: 'foreign', provider: undefined, missing: [] }],
      ['while CAPA serves the kind', { kind: 'capaServes', webhook: 'default.example', isForeign: false }],
    ] as const)
      it(`${when}: the API server may drop spec.deletionPolicy`, async () => {
        teardown.startWith('web');
        teardown.schema = schema;
        await expectNothing(later);
      });

    it('while the CRD cannot be read, and says so in an Event about each profile', async () => {
      teardown.startWith('web', 'batch');
      teardown.schema = { kind: 'unreadable', reason: 'the CRD is forbidden' };
      expect(await teardown.reconcile()).to.include(later);
      expect(teardown.writes()).to.deep.equal([]);
      expect(teardown.events.map((event) => event.replace(/:.*: /s, ': '))).to.deep.equal([
        'batch APIServerRefused: the CRD is forbidden.',
        'web APIServerRefused: the CRD is forbidden.',
      ]);
    });

    it('when the Cluster names a control plane of another kind, although an AWSManagedControlPlane is being deleted', async () => {
      teardown.putTornDownCluster({ controlPlaneRef: { ...REFERENCE, kind: 'KubeadmControlPlane' } });
      teardown.putProfile('web');
      teardown.sync();
      await expectNothing({ kind: 'after', delay: 30_000 });
    });

    for (const [what, kind, change] of [
      ['the pause of the Cluster', CLUSTER, { spec: { paused: true } }],
      ['the pause of a profile', PROFILE_KIND, { metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } }],
      ['a new deletionPolicy Retain', PROFILE_KIND, { spec: { deletionPolicy: 'Retain' } }],
      ['the move of a profile', PROFILE_KIND, { metadata: { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } } }],
      ['the move of the Cluster', CLUSTER, { metadata: { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } } }],
    ] as const)
      it(`if the API server shows ${what}, although the cache does not show it yet`, async () => {
        teardown.startWith('web');
        teardown.api.server.storage.mergePatch(kind, { ...KEY, name: kind === CLUSTER ? 'prod' : 'web' }, change);
        await expectNothing({ kind: 'after', delay: 2_000 });
      });

    for (const [what, kind, spec, message] of [
      [
        'the Cluster',
        CLUSTER,
        { paused: 'perhaps' },
        'Cluster team-a/prod cannot be read: spec.paused: expected boolean, got "perhaps"',
      ],
      [
        'the control plane',
        CONTROL_PLANE,
        { region: 7 },
        'AWSManagedControlPlane team-a/prod-control-plane cannot be read: spec.region: expected string, got 7',
      ],
    ] as const)
      it(`when ${what} cannot be decoded, and ends with a terminal error`, async () => {
        teardown.putTornDownCluster();
        const name = kind === CLUSTER ? 'prod' : 'prod-control-plane';
        teardown.api.server.storage.mergePatch(kind, { ...KEY, name }, { spec });
        teardown.putProfile('web');
        teardown.sync();
        const next = await teardown.reconcile();
        expect(next.kind === 'terminal' && errorMessage(next.error)).to.equal(message);
        expect([teardown.writes(), teardown.events]).to.deep.equal([[], []]);
      });
  });

  it('deletes 50 in one turn, so that others have theirs, and tries one that is paused again after the last turn', async () => {
    teardown.putTornDownCluster();
    const paused = teardown.putProfile('a');
    for (let index = 0; index < 119; index++) teardown.putProfile(`web-${100 + index}`);
    teardown.sync();
    const pause = (value: string | null): void => {
      const annotations = { [PAUSED_ANNOTATION]: value };
      teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(paused), { metadata: { annotations } });
    };
    pause('');
    for (const deleted of [49, 99]) {
      expect(await teardown.reconcile()).to.deep.include({ kind: 'after', delay: 0 });
      expect(teardown.deletedProfiles()).to.have.length(deleted);
    }
    expect(await teardown.reconcile()).to.deep.include({ kind: 'after', delay: 2_000 });
    expect(teardown.deletedProfiles()).to.have.length(119);
    pause(null);
    teardown.sync();
    expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
    expect(teardown.deletedProfiles()).to.have.length(120);
  });

  describe('with a deletion that the API server fails to carry out', () => {
    const fail = () => json(500, { kind: 'Status', code: 500, reason: 'InternalError', message: 'no such key' });
    const failToDelete = (name: string): void => {
      teardown.api.server.intercept = ({ method, path }) =>
        method === 'DELETE' && path.endsWith(`/${name}`) ? fail() : undefined;
    };
    const expectFailure = async (message = 'no such key'): Promise<void> => {
      const thrown = await teardown.reconcile().then(String, errorMessage);
      expect(thrown)
        .to.match(/^deleting awsfargateprofiles\S+ team-a\/a: /)
        .and.to.contain(message);
    };

    it('deletes the others, and reports the failure after a minute', async () => {
      teardown.startWith('a', 'batch', 'web');
      failToDelete('a');
      await expectFailure();
      expect(teardown.deletedProfiles()).to.have.members(['batch', 'web']);
      expect(teardown.events).to.have.length(2);
      await teardown.api.clock.advance(MINUTE);
      teardown.sync();
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 15_000 });
      expect(teardown.events).to.have.length(3);
      expect(teardown.events[2])
        .to.match(/^a APIServerRefused: /)
        .and.to.match(/no such key\.$/);
      teardown.api.server.intercept = () => undefined;
      expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
    });

    it('measures the minute again after a success', async () => {
      teardown.startWith('a');
      failToDelete('a');
      await expectFailure();
      teardown.api.server.intercept = () => undefined;
      await teardown.reconcile();
      await teardown.api.clock.advance(MINUTE);
      teardown.api.server.storage.mergePatch(PROFILE_KIND, { ...KEY, name: 'a' }, { metadata: { finalizers: [] } });
      teardown.putProfile('a');
      teardown.sync();
      failToDelete('a');
      await expectFailure();
    });

    it('ends its turn after a minute, and goes on with the next profile', async () => {
      teardown.startWith('a', 'b', 'c');
      teardown.api.server.intercept = ({ method, path }) =>
        method === 'DELETE' && !path.endsWith('/c') ? new Promise(() => {}) : undefined;
      const turn = teardown.reconcile();
      await teardown.api.clock.advance(MINUTE);
      expect(await turn).to.include({ kind: 'backoff' });
      expect(teardown.deletedProfiles()).to.deep.equal([]);
      await expectFailure('no answer');
      expect(teardown.deletedProfiles()).to.deep.equal(['c']);
    });
  });

  it('stops deleting profiles once the lease may have expired', async () => {
    teardown.startWith('web', 'batch', 'jobs');
    teardown.remaining = () => (teardown.deletedProfiles().length === 0 ? 15_000 : 0);
    expect(await teardown.reconcile()).to.include({ kind: 'backoff' });
    expect(teardown.deletedProfiles()).to.have.length(1);
  });
});
