import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import { ClusterName, EksClusterName } from '../../api/names.ts';
import { CLUSTER, CONTROL_PLANE, PROFILE_KIND } from '../awsfargateprofile/testing/api.ts';
import { HERE, type ObjectParts, RECORDED } from '../awsfargateprofile/testing/builders.ts';
import { CONTROL_PLANE_FINALIZER } from '../shared/control-plane/control-plane-finalizer.ts';
import {
  CAPA_FINALIZER,
  CLUSTER_LABELS,
  CONTROL_PLANE_KEY,
  KEY,
  REFERENCE,
  TeardownFixture,
} from './testing/fixture.ts';

describe('the control plane finalizer', () => {
  let teardown: TeardownFixture;
  beforeEach(() => {
    teardown = new TeardownFixture();
  });

  it('is added only to the control plane that the Cluster names, while a profile of the cluster has our finalizer', async () => {
    teardown.api.putCluster({ controlPlaneRef: REFERENCE });
    teardown.api.putControlPlane();
    teardown.api.putControlPlane({}, { name: 'former', labels: CLUSTER_LABELS });
    teardown.putProfile('elsewhere', 'stage');
    teardown.api.put({ metadata: { name: 'new', finalizers: [] } });
    teardown.sync();
    await teardown.reconcile();
    expect(teardown.api.server.requests, 'no profile of the cluster has our finalizer').to.deep.equal([]);
    teardown.putProfile('web');
    teardown.sync();
    await teardown.reconcile();
    expect([teardown.finalizers(), teardown.finalizers('former')]).to.deep.equal([[CONTROL_PLANE_FINALIZER], []]);
    teardown.sync();
    const before = teardown.api.server.requests.length;
    await teardown.reconcile();
    expect(teardown.api.server.requests, 'the cache shows the finalizer').to.have.length(before);
  });

  it('does not change while the Cluster is paused, or once the lease may have expired', async () => {
    teardown.api.putCluster({ paused: true, controlPlaneRef: REFERENCE });
    teardown.api.putControlPlane();
    teardown.api.putControlPlane({}, { name: 'former', labels: CLUSTER_LABELS, finalizers: [CONTROL_PLANE_FINALIZER] });
    teardown.sync();
    await teardown.reconcile();
    expect(teardown.finalizers('former')).to.deep.equal([CONTROL_PLANE_FINALIZER]);
    teardown.putProfile('web');
    teardown.sync();
    await teardown.reconcile();
    expect(teardown.finalizers()).to.deep.equal([]);
    teardown.api.server.storage.mergePatch(CLUSTER, KEY, { spec: { paused: false } });
    teardown.sync();
    teardown.remaining = () => 0;
    await teardown.reconcile();
    expect(teardown.finalizers()).to.deep.equal([]);
  });

  it('is removed under a foreign schema too', async () => {
    teardown.startWith();
    teardown.schema = { kind: 'foreign', provider: undefined, missing: [] };
    await teardown.reconcile();
    expect(teardown.finalizers()).to.deep.equal([CAPA_FINALIZER]);
  });

  for (const [what, putProfile] of [
    ['a profile of the cluster', () => void teardown.putProfile('web')],
    [
      'a profile that cannot be decoded',
      () =>
        teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(teardown.putProfile('web')), {
          spec: { clusterName: 7 },
        }),
    ],
  ] as const)
    it(`is kept when only a live list has ${what}`, async () => {
      teardown.startWith();
      putProfile();
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.finalizers()).to.include(CONTROL_PLANE_FINALIZER);
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.events, 'while only the cache may be behind').to.deep.equal([]);
      await teardown.api.clock.advance(30_000);
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.events).to.have.length(1);
      expect(teardown.events[0]).to.match(
        /^prod-control-plane WaitingForAWSFargateProfile: .* AWSFargateProfile team-a\/web/,
      );
      teardown.api.server.storage.mergePatch(PROFILE_KIND, { ...KEY, name: 'web' }, { metadata: { finalizers: [] } });
      expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
      expect(teardown.finalizers()).to.deep.equal([CAPA_FINALIZER]);
    });

  it('is kept for a cached profile that cannot be decoded, and an event names the profile', async () => {
    teardown.putTornDownCluster();
    teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(teardown.putProfile('web')), { spec: { selectors: 7 } });
    teardown.sync();
    await teardown.reconcile();
    await teardown.api.clock.advance(30_000);
    expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
    expect(teardown.finalizers()).to.include(CONTROL_PLANE_FINALIZER);
    expect(teardown.events).to.have.length(1);
    expect(teardown.events[0]).to.contain('AWSFargateProfile team-a/web, which the controller cannot read,');
  });

  it('is kept for a profile that another manager is deleting, with an event only after a quarter of an hour', async () => {
    teardown.startWith();
    const theirs = teardown.putProfile('web');
    teardown.api.server.storage.delete(PROFILE_KIND, keyOf(theirs));
    for (let pass = 1; pass <= 30; pass++) {
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.events, `in pass ${pass}`).to.deep.equal([]);
      await teardown.api.clock.advance(30_000);
    }
    await teardown.reconcile();
    expect(teardown.events).to.have.length(1);
  });

  it('is kept without an event on a control plane that stays', async () => {
    teardown.api.putCluster({ controlPlaneRef: REFERENCE });
    teardown.api.putControlPlane({}, { finalizers: [CONTROL_PLANE_FINALIZER] });
    teardown.sync();
    teardown.putProfile('web');
    for (let pass = 1; pass <= 3; pass++) expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
    expect([teardown.finalizers(), teardown.events]).to.deep.equal([[CONTROL_PLANE_FINALIZER], []]);
  });

  for (const paused of [false, true])
    it(`is kept for a profile of another Cluster that refers to the control plane and is ${paused ? '' : 'not '}paused`, async () => {
      teardown.startWith();
      const other = { ...KEY, name: 'copied' };
      teardown.api.putCluster({ controlPlaneRef: REFERENCE, paused }, { name: other.name });
      const theirs = teardown.putProfile('web', other.name);
      teardown.sync();
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.finalizers()).to.include(CONTROL_PLANE_FINALIZER);
      teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(theirs), { metadata: { finalizers: [] } });
      teardown.sync();
      expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
      expect(teardown.finalizers()).to.deep.equal([CAPA_FINALIZER]);
    });

  it('is removed although another cluster has profiles, one of which cannot be decoded', async () => {
    teardown.putTornDownCluster();
    teardown.putProfile('readable', 'stage');
    const elsewhere = teardown.putProfile('elsewhere', 'stage');
    teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(elsewhere), { spec: { selectors: 'none' } });
    teardown.sync();
    expect(await teardown.reconcile()).to.deep.equal({ kind: 'done' });
    expect(teardown.finalizers()).to.deep.equal([CAPA_FINALIZER]);
  });

  it('is kept after a write conflict, and the reconcile is repeated', async () => {
    teardown.startWith();
    teardown.api.server.storage.mergePatch(CONTROL_PLANE, CONTROL_PLANE_KEY, { metadata: { labels: { a: 'b' } } });
    expect(await teardown.reconcile()).to.deep.equal({ kind: 'conflict' });
    expect(teardown.finalizers()).to.include(CONTROL_PLANE_FINALIZER);
  });

  it('is removed from all control planes of a Cluster that is gone', async () => {
    const owner = { labels: CLUSTER_LABELS, finalizers: [CONTROL_PLANE_FINALIZER, CAPA_FINALIZER] };
    for (const name of ['one', 'two']) teardown.api.putControlPlane({}, { name, ...owner });
    teardown.sync();
    await teardown.reconcile();
    expect([teardown.finalizers('one'), teardown.finalizers('two')]).to.deep.equal([
      [CAPA_FINALIZER],
      [CAPA_FINALIZER],
    ]);
  });

  it('is removed from a former control plane after the last profile', async () => {
    teardown.api.putCluster({ controlPlaneRef: REFERENCE });
    teardown.api.putControlPlane();
    teardown.api.putControlPlane(
      {},
      { name: 'former', labels: CLUSTER_LABELS, finalizers: [CONTROL_PLANE_FINALIZER, CAPA_FINALIZER] },
    );
    const last = teardown.putProfile('web');
    teardown.sync();
    await teardown.reconcile();
    expect(teardown.finalizers('former')).to.deep.equal([CONTROL_PLANE_FINALIZER, CAPA_FINALIZER]);
    teardown.api.server.storage.mergePatch(PROFILE_KIND, keyOf(last), { metadata: { finalizers: [] } });
    teardown.sync();
    await teardown.reconcile();
    expect([teardown.finalizers(), teardown.finalizers('former')]).to.deep.equal([[], [CAPA_FINALIZER]]);
  });

  it("is kept for another manager's profile elsewhere if the Cluster is gone: that manager would add it again", async () => {
    const spec = { region: HERE.region, eksClusterName: HERE.eksCluster };
    teardown.api.putControlPlane(spec, { labels: CLUSTER_LABELS, finalizers: [CONTROL_PLANE_FINALIZER] });
    teardown.sync();
    teardown.api.put({ record: { in: { ...HERE, eksCluster: EksClusterName.of('new') } } });
    await teardown.reconcile();
    expect(teardown.finalizers()).to.deep.equal([CONTROL_PLANE_FINALIZER]);
  });

  describe('on a former control plane that is being deleted', () => {
    const OURS = [CONTROL_PLANE_FINALIZER, CAPA_FINALIZER];
    const putFormer = (name: string, fields: object): void => {
      const spec = { region: HERE.region, eksClusterName: HERE.eksCluster, ...fields };
      const former = teardown.api.putControlPlane(spec, { name, labels: CLUSTER_LABELS, finalizers: OURS });
      teardown.api.server.storage.delete(CONTROL_PLANE, keyOf(former));
    };
    const putCurrent = (): void => {
      teardown.api.putCluster({ controlPlaneRef: REFERENCE });
      teardown.api.putControlPlane({}, { labels: CLUSTER_LABELS, finalizers: [CONTROL_PLANE_FINALIZER] });
    };

    const record = { in: HERE };
    const elsewhere = { in: { ...HERE, eksCluster: EksClusterName.of('new') } };
    for (const [what, profile, former, expected] of [
      ['stays for a profile in its EKS cluster', { record }, {}, OURS],
      ['stays for a profile that may be anywhere', { metadata: { annotations: {} } }, {}, OURS],
      ['stays for a profile that is about to be created', {}, {}, OURS],
      [
        'stays for a profile in its EKS cluster, according to status',
        { record: elsewhere, status: RECORDED },
        {},
        OURS,
      ],
      ['stays for a profile elsewhere if it has no region', { record: elsewhere }, { region: undefined }, OURS],
      ['is removed if the profile is in another EKS cluster', { record: elsewhere }, {}, [CAPA_FINALIZER]],
      ['is removed if the profile is in another region', { record }, { region: 'eu-north-1' }, [CAPA_FINALIZER]],
    ] as const satisfies readonly (readonly [string, ObjectParts, object, readonly string[]])[])
      it(what, async () => {
        putCurrent();
        putFormer('former', former);
        teardown.api.put(profile);
        teardown.sync();
        await teardown.reconcile();
        await teardown.api.clock.advance(30_000);
        teardown.sync();
        const isKept = expected === OURS;
        expect(await teardown.reconcile()).to.deep.include(
          isKept ? { kind: 'after', delay: 30_000 } : { kind: 'done' },
        );
        expect(teardown.finalizers('former')).to.deep.equal(expected);
        expect(teardown.finalizers()).to.deep.equal([CONTROL_PLANE_FINALIZER]);
        expect(teardown.events.map((event) => event.split(': ')[0])).to.deep.equal(
          isKept ? ['former WaitingForAWSFargateProfile'] : [],
        );
      });

    it('stays for a profile elsewhere whose Cluster, another one, refers to it', async () => {
      putCurrent();
      putFormer('former', {});
      teardown.api.putCluster({ controlPlaneRef: { ...REFERENCE, name: 'former' } }, { name: 'copied' });
      teardown.api.put({
        metadata: { name: 'theirs' },
        spec: { clusterName: ClusterName.of('copied') },
        record: elsewhere,
      });
      teardown.sync();
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect(teardown.finalizers('former')).to.deep.equal(OURS);
    });

    it('is removed although another former control plane waits for a profile', async () => {
      putCurrent();
      putFormer('a-waiting', {});
      putFormer('b-free', { eksClusterName: 'old' });
      teardown.api.put({ record });
      teardown.sync();
      expect(await teardown.reconcile()).to.include({ kind: 'after', delay: 30_000 });
      expect([teardown.finalizers('a-waiting'), teardown.finalizers('b-free')]).to.deep.equal([OURS, [CAPA_FINALIZER]]);
    });
  });

  it('is added again with backoff after repeated conflicts', async () => {
    teardown.api.putCluster({ controlPlaneRef: REFERENCE });
    const controlPlane = teardown.api.putControlPlane();
    teardown.putProfile('web');
    teardown.sync();
    teardown.api.server.storage.mergePatch(CONTROL_PLANE, keyOf(controlPlane), { metadata: { labels: { a: 'b' } } });
    teardown.api.server.intercept = ({ method }) => {
      if (method === 'PATCH')
        teardown.api.server.storage.mergePatch(CONTROL_PLANE, keyOf(controlPlane), {
          metadata: { labels: { a: `${teardown.api.random.next()}` } },
        });
      return undefined;
    };
    expect(await teardown.reconcile()).to.deep.equal({
      kind: 'backoff',
      reason: 'another client changes the control plane again and again',
    });
  });
});
