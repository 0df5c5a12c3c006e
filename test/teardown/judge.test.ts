import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import type { AuditEvent } from '../world/audit.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import { FINALIZER } from '../world/from-capa.ts';
import type { Told } from './ends.ts';
import { endsOf } from './ends.ts';
import type { Party, Seen } from './judge.ts';
import { findingsOf } from './judge.ts';

const PARTY: Party = {
  namespace: 'team-a',
  cluster: 'prod',
  controlPlane: 'prod-control-plane',
  profiles: [{ object: 'web', profile: 'team-a_web', role: 'pods', isRoleOurs: true }],
};

const PROFILE = { arn: 'arn:web', status: 'DELETING' };

/** Something that happens to an object, with what is left of its finalizers. */
interface Happening {
  readonly resource: string;
  readonly name: string;
  readonly finalizers: readonly string[];
  /** Default: on record, and told by the watch. */
  readonly isRecorded?: boolean;
}

const HELD: Happening = { resource: 'awsfargateprofiles', name: 'web', finalizers: [FINALIZER] };
const RELEASED: Happening = { ...HELD, finalizers: [] };
/** The sender was killed before it was answered. */
const RELEASED_UNRECORDED: Happening = { ...RELEASED, isRecorded: false };
const GUARDED: Happening = { resource: 'awsmanagedcontrolplanes', name: 'prod-control-plane', finalizers: [GUARD] };
/** Its own controller has yet to let go of it. */
const LET_GO: Happening = { ...GUARDED, finalizers: ['theirs'] };
const CLUSTER_GONE: Happening = { resource: 'clusters', name: 'prod', finalizers: [] };

const objectOf = ({ name, finalizers }: Happening, version: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'any',
  metadata: {
    name,
    namespace: 'team-a',
    uid: name,
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T00:00:00Z',
    deletionTimestamp: '2026-11-21T00:01:00Z',
    finalizers,
  },
  spec: { clusterName: 'prod' },
});

/** One happens in each millisecond. */
function judged(happenings: readonly Happening[], sights: readonly Seen[] = []): readonly string[] {
  const moments = happenings.map((happening, at) => ({ ...happening, at, object: objectOf(happening, at + 1) }));
  const told = moments.map(({ resource, finalizers, at, object }): Told => ({
    resource,
    at,
    object,
    type: finalizers.length === 0 ? 'DELETED' : 'MODIFIED',
  }));
  const audit = moments
    .filter(({ isRecorded = true }) => isRecorded)
    .map(({ resource, name, at, object }): AuditEvent => ({
      verb: 'patch',
      userAgent: 'manager',
      objectRef: { resource, namespace: 'team-a', name },
      object,
      at,
    }));
  return findingsOf(PARTY, { audit, sights, ends: endsOf({ name: 'prod', namespace: 'team-a' }, told) });
}

describe('the judge of a teardown', () => {
  for (const [what, release] of [
    ['on record', RELEASED],
    ['not on record, because it was cut off with its sender', RELEASED_UNRECORDED],
  ] as const) {
    describe(`with the release of a profile ${what}`, () => {
      it('finds nothing where all go in order', () => {
        expect(judged([HELD, GUARDED, release, LET_GO, CLUSTER_GONE])).to.deep.equal([]);
      });

      it('finds a control plane that was let go before', () => {
        expect(judged([HELD, GUARDED, LET_GO, release, CLUSTER_GONE])).to.deep.equal([
          'the control plane was let go before web',
        ]);
      });

      it('finds a control plane that was let go before, though it was kept again afterwards', () => {
        expect(judged([HELD, GUARDED, LET_GO, GUARDED, release, LET_GO, CLUSTER_GONE])).to.deep.equal([
          'the control plane was let go before web',
        ]);
      });

      it('finds a Cluster that was gone before', () => {
        expect(judged([HELD, GUARDED, CLUSTER_GONE, release, LET_GO])).to.deep.equal([
          'the Cluster was gone before the object web',
        ]);
      });

      it('finds one that was let go with its profile in AWS', () => {
        const still: Seen = { at: 1, profiles: new Map([['team-a_web', PROFILE]]), roles: new Map() };
        const gone: Seen = { at: 3, profiles: new Map(), roles: new Map() };
        expect(judged([HELD, GUARDED, release, LET_GO, CLUSTER_GONE], [still, gone])).to.deep.equal([
          `web: version ${what === 'on record' ? 3 : 1}: the object was let go with its profile DELETING`,
        ]);
      });
    });
  }

  it('finds a profile that never went', () => {
    expect(judged([HELD, GUARDED, LET_GO, CLUSTER_GONE])).to.deep.equal([
      'the object web is still there',
      'the control plane was let go before web',
      'the Cluster was gone before the object web',
    ]);
  });
});
