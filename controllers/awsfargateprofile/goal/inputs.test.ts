import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { type IndexFunc, Store } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import {
  BY_CONTROL_PLANE,
  BY_EKS_CLUSTER,
  PROFILE_INDEXES,
  controlPlaneOf,
  eksClusterOfControlPlane,
  newTypedCaches,
} from '../../shared/caches.ts';
import { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { type InputCaches, clusterKeyOf, learnAccounts, readInputs } from './inputs.ts';
import { ACCOUNT, HERE, aDeletedObject, anObject } from '../testing/builders.ts';

const metadata = (name: string) => ({ name, namespace: 'team-a', uid: `uid-of-${name}`, resourceVersion: '1' });
const CONTROL_PLANE = {
  apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
  kind: 'AWSManagedControlPlane',
  metadata: metadata('prod-control-plane'),
};
const CLUSTER = {
  apiVersion: 'cluster.x-k8s.io/v1beta1',
  kind: 'Cluster',
  metadata: metadata('prod'),
  spec: {
    controlPlaneRef: {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      name: 'prod-control-plane',
    },
  },
};

function storeOf(
  objects: readonly KubeObject[] | undefined,
  indexes: Readonly<Record<string, IndexFunc>> = PROFILE_INDEXES,
): Store {
  const store = new Store({ name: 'things', logger: new MemoryLogger(), indexes });
  if (objects !== undefined) store.replaceAll(objects, '100');
  return store;
}

interface Cached extends Omit<Partial<InputCaches>, 'clusters' | 'controlPlanes' | 'accounts'> {
  readonly clusters?: readonly KubeObject[] | null;
  readonly controlPlanes?: readonly KubeObject[] | null | 'not served';
  readonly accounts?: ControlPlaneAccounts;
}

/**
 * Returns caches that contain the given objects. `null` in place of the objects of a kind means that the cache has not
 * listed this kind yet.
 */
function cachesOf({ clusters = [CLUSTER], controlPlanes = [CONTROL_PLANE], ...rest }: Cached = {}) {
  const listed = controlPlanes === 'not served' ? undefined : (controlPlanes ?? undefined);
  const planes = storeOf(listed, { [BY_EKS_CLUSTER]: eksClusterOfControlPlane });
  if (controlPlanes === 'not served') planes.markUnserved({ reason: controlPlanes });
  const stores = {
    profiles: storeOf([]),
    clusters: storeOf(clusters ?? undefined, { [BY_CONTROL_PLANE]: controlPlaneOf }),
    controlPlanes: planes,
  };
  return { limits: NO_LIMITS, ...newTypedCaches(stores), ...rest };
}

const READY = { ...CONTROL_PLANE, spec: { region: 'eu-west-1' }, status: { ready: true } };
/** Returns an object with spec.eksCluster, or with neither this field nor spec.clusterName. */
function inEks(
  eksCluster: AWSFargateProfile['spec']['eksCluster'] | null = { name: HERE.eksCluster, region: 'eu-west-1' },
  object = anObject(),
): AWSFargateProfile {
  const { clusterName: _name, ...spec } = object.spec;
  return { ...object, spec: { ...spec, ...(eksCluster && { eksCluster }) } };
}

const read = ({ object = anObject(), ...cached }: Cached & { readonly object?: AWSFargateProfile } = {}) =>
  readInputs(object, cachesOf(cached));

describe('readInputs', () => {
  it('finds the Cluster, its apiVersion and its control plane', () => {
    const { cluster, clusterApiVersion, controlPlane } = read();
    expect(cluster).to.have.nested.property('object.metadata.name', 'prod');
    expect(clusterApiVersion).to.equal('cluster.x-k8s.io/v1beta1');
    expect(controlPlane).to.have.nested.property('object.metadata.name', 'prod-control-plane');
  });

  it('finds no control plane if the Cluster does not name an AWSManagedControlPlane of its namespace', () => {
    const other = { ...CLUSTER, spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, kind: 'OtherPlane' } } };
    const elsewhere = {
      ...CLUSTER,
      spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, namespace: 'team-b' } },
    };
    for (const clusters of [[], [{ ...CLUSTER, spec: {} }], [other], [elsewhere]])
      expect(read({ clusters }).controlPlane).to.deep.equal({ kind: 'absent' });
  });

  it('reports an object as unknown, not as absent, while its cache is not listed', () => {
    const reason = 'things are not listed yet';
    expect(read({ clusters: null })).to.deep.include({
      cluster: { kind: 'unknown', reason },
      controlPlane: { kind: 'unknown', reason },
    });
    expect(read({ controlPlanes: null }).controlPlane).to.deep.equal({ kind: 'unknown', reason });
  });

  it('reports an object that cannot be decoded as unknown, with the field at fault', () => {
    expect(read({ clusters: [{ ...CLUSTER, spec: { paused: 'yes' } }] }).cluster).to.deep.equal({
      kind: 'unknown',
      isInvalid: true,
      reason: 'team-a/prod: spec.paused: expected boolean, got "yes"',
    });
    expect(read({ controlPlanes: [{ ...CONTROL_PLANE, spec: { region: 7 } }] }).controlPlane).to.deep.equal({
      kind: 'unknown',
      isInvalid: true,
      reason: 'team-a/prod-control-plane: spec.region: expected string, got 7',
    });
  });

  it('finds the control plane of spec.eksCluster and its Cluster, or reports that they are unknown', () => {
    const object = inEks();
    const joined = read({ object, controlPlanes: [READY] });
    expect(joined.cluster).to.have.nested.property('object.metadata.name', 'prod');
    expect(joined.controlPlane).to.have.nested.property('object.metadata.name', 'prod-control-plane');
    expect(read({ object, controlPlanes: [] })).to.deep.include({
      cluster: { kind: 'none' },
      controlPlane: { kind: 'absent' },
    });
    expect(read({ object, controlPlanes: [READY], clusters: [] }).cluster).to.deep.equal({ kind: 'none' });
    const unreadable = { ...CONTROL_PLANE, spec: { region: 7 } };
    for (const caches of [
      { controlPlanes: null },
      { controlPlanes: [unreadable] },
      { controlPlanes: [READY], clusters: null },
      { controlPlanes: [READY], clusters: [{ ...CLUSTER, spec: { ...CLUSTER.spec, paused: 'yes' } }] },
    ])
      expect(read({ object, ...caches }).cluster.kind, JSON.stringify(caches)).to.equal('unknown');
  });

  it('finds the paused one of several Clusters that name the control plane of spec.eksCluster', () => {
    const copy = { ...CLUSTER, metadata: metadata('copy') };
    const paused = { ...CLUSTER, spec: { ...CLUSTER.spec, paused: true } };
    for (const clusters of [
      [copy, paused],
      [paused, copy],
    ])
      expect(read({ object: inEks(), controlPlanes: [READY], clusters }).cluster).to.have.nested.property(
        'object.metadata.name',
        'prod',
      );
    const unreadable = { ...copy, spec: { ...CLUSTER.spec, paused: 'yes' } };
    const clusters = [CLUSTER, unreadable];
    expect(read({ object: inEks(), controlPlanes: [READY], clusters }).cluster.kind).to.equal('unknown');
  });
});

const recorded = anObject({ record: { in: HERE } });
const allowedIn = (region: string) => ({ eksClusters: [{ namespace: '*', account: ACCOUNT, region, name: '*' }] });

describe('spec.eksCluster', () => {
  const name = HERE.eksCluster;

  for (const [situation, object, managerRegion, region] of [
    ['has the region in the spec', inEks({ name, region: 'eu-north-1' }, recorded), 'us-east-1', 'eu-north-1'],
    ['has the recorded region if the spec has none', inEks({ name }, recorded), 'us-east-1', 'eu-west-1'],
    ["has the manager's region if none is recorded", inEks({ name }), 'us-east-1', 'us-east-1'],
    ['has no region if the manager knows none, and exceeds no limit yet', inEks({ name }), undefined, undefined],
  ] as const)
    it(situation, () => {
      const forbidden = read({ object, managerRegion }).eksCluster;
      expect(forbidden).to.include({ name, region });
      expect(forbidden?.excess).to.have.length(region === undefined ? 0 : 1);
      const allowed = read({ object, managerRegion, limits: allowedIn(region ?? '') }).eksCluster;
      expect(allowed?.excess).to.deep.equal([]);
    });

  it('is missing if the spec has lost it', () => {
    expect(read({ object: inEks(null) })).to.not.have.property('eksCluster');
  });

  const renamed = { ...CLUSTER, spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, kind: 'OtherPlane' } } };
  for (const [situation, object, clusters, kind] of [
    ['a Cluster that refers to a control plane', inEks(), [CLUSTER], 'unknown'],
    ['such a Cluster, and an object without EKS cluster', inEks(null), [CLUSTER], 'none'],
    [
      'such a Cluster in another namespace',
      inEks(),
      [{ ...CLUSTER, metadata: { ...CLUSTER.metadata, namespace: 'b' } }],
      'none',
    ],
    ['a Cluster of another provider', inEks(), [renamed], 'none'],
    ['a Cluster that cannot be read', inEks(), [{ ...CLUSTER, spec: { paused: 'yes' } }], 'none'],
    ['Clusters that are not listed', inEks(), null, 'none'],
  ] as const)
    it(`has the Cluster "${kind}" if the API server serves no control planes, with ${situation}`, () =>
      expect(read({ object, clusters, controlPlanes: 'not served' }).cluster.kind).to.equal(kind));
});

describe('clusterKeyOf', () => {
  const prod = E.right({ namespace: 'team-a', name: 'prod' });
  for (const [situation, object, cached, key] of [
    ['returns the Cluster in the spec, whether or not it exists', anObject(), { clusters: [] }, prod],
    ['returns the Cluster whose control plane manages spec.eksCluster', inEks(), {}, prod],
    ['returns nothing without such a control plane', inEks(), { controlPlanes: [] }, E.right(undefined)],
    ['says why it is not known', inEks(), { controlPlanes: null }, E.left('things are not listed yet')],
  ] as const)
    it(situation, () =>
      expect(clusterKeyOf(object, cachesOf({ controlPlanes: [READY], ...cached }))).to.deep.equal(key),
    );
});

describe('The account of a control plane', () => {
  const stranger = { ...READY, spec: { ...READY.spec, identityRef: { kind: 'AWSClusterRoleIdentity', name: 'x' } } };
  const deletedIn = (place: ProfileRecord['in']) => inEks(undefined, aDeletedObject({ record: { in: place } }));
  const allowed = { limits: allowedIn('eu-west-1'), controlPlanes: [stranger] };
  const forbidden = { controlPlanes: [stranger] };
  const context = { signal: new AbortController().signal, logger: new MemoryLogger() };

  for (const [situation, object, cached, expected] of [
    ['is learned if spec.eksCluster has another identity', inEks(), allowed, ['prod']],
    ['is learned without a Cluster that refers to it', inEks(), { ...allowed, clusters: [] }, [undefined]],
    ['is not asked for if the identities are the same', inEks(), { ...allowed, controlPlanes: [READY] }, []],
    ['is not asked for while control planes are not listed', inEks(), { ...allowed, controlPlanes: null }, []],
    ['is not asked for if the EKS cluster is not allowed', inEks(undefined, recorded), forbidden, []],
    ['is learned on deletion in an EKS cluster that is not allowed', deletedIn(HERE), forbidden, ['prod']],
    ['is not asked for there if nothing was created', deletedIn({ kind: 'none' }), forbidden, []],
  ] as const)
    it(situation, async () => {
      let asked = 0;
      const open = async () => {
        asked += 1;
        return E.right({ account: ACCOUNT } as Session);
      };
      const caches = { ...cachesOf(cached), accounts: new ControlPlaneAccounts({ open }) };
      expect(readInputs(object, caches).eksCluster?.inAccounts, 'not learned yet').to.deep.equal([]);
      await learnAccounts(object, caches, context);
      const found = readInputs(object, caches).eksCluster?.inAccounts ?? [];
      expect(found.map(({ account, cluster }) => [account, cluster?.metadata.name])).to.deep.equal(
        expected.map((name) => [ACCOUNT, name]),
      );
      expect(asked).to.equal(expected.length);
    });

  it('is not learned by a process that does not compare accounts', async () => {
    expect(await learnAccounts(inEks(), cachesOf(allowed), context)).to.equal(undefined);
  });
});
