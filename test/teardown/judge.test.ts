import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import type { AuditEvent } from '../world/audit.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import { FINALIZER } from '../world/from-capa.ts';
import type { Party } from './judge.ts';
import { findingsOf } from './judge.ts';

const PARTY: Party = {
  namespace: 'team-a',
  cluster: 'prod',
  controlPlane: 'prod-control-plane',
  profiles: [{ object: 'web', profile: 'team-a_web', role: 'pods', isRoleOurs: true }],
};

/** What is left of an object's finalizers once a request was carried out, in the order of time. */
const written = (resource: string, name: string, ...finalizers: readonly string[]): Omit<AuditEvent, 'at'> => ({
  verb: 'patch',
  userAgent: 'manager',
  objectRef: { resource, namespace: 'team-a', name },
  object: {
    apiVersion: 'v1',
    kind: 'any',
    metadata: {
      name,
      namespace: 'team-a',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-11-21T00:00:00Z',
      deletionTimestamp: '2026-11-21T00:01:00Z',
      finalizers,
    },
  } satisfies KubeObject,
});

const HELD = written('awsfargateprofiles', 'web', FINALIZER);
const RELEASED = written('awsfargateprofiles', 'web');
const GUARDED = written('awsmanagedcontrolplanes', 'prod-control-plane', GUARD);
const LET_GO = written('awsmanagedcontrolplanes', 'prod-control-plane');
const CLUSTER_GONE = written('clusters', 'prod');

const judged = (...events: readonly Omit<AuditEvent, 'at'>[]): readonly string[] =>
  findingsOf(
    PARTY,
    events.map((event, at) => ({ ...event, at })),
    [],
  );

describe('the judge of a teardown', () => {
  it('finds nothing where all go in order', () => {
    expect(judged(HELD, GUARDED, RELEASED, LET_GO, CLUSTER_GONE)).to.deep.equal([]);
  });

  it('finds a control plane and a Cluster that went before a profile', () => {
    expect(judged(HELD, GUARDED, LET_GO, CLUSTER_GONE, RELEASED)).to.deep.equal([
      'the control plane was let go before web',
      'the Cluster was gone before the object web',
    ]);
  });

  it('finds nothing where the release of a profile was cut off with its sender: no record tells of it', () => {
    expect(judged(HELD, GUARDED, LET_GO, CLUSTER_GONE)).to.deep.equal([]);
  });
});
