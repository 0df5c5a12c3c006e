import { expect } from 'chai';
import type { RawObject } from '../envtest/clients/api.ts';
import type { AuditEvent } from '../world/cluster-api/audit.ts';
import { CONTROL_PLANE_FINALIZER } from '../world/cluster-api/cluster-teardown.ts';
import { FINALIZER } from '../world/aws/capa-resources.ts';
import { type ReceivedEvent, removalsIn } from './removals.ts';
import { type TeardownObjects, type AccountSnapshot, findTeardownViolations } from './teardown-checks.ts';

const OBJECTS: TeardownObjects = {
  namespace: 'team-a',
  cluster: 'prod',
  controlPlane: 'prod-control-plane',
  profiles: [{ object: 'web', profile: 'team-a_web', role: 'pods', isRoleOurs: true }],
};

const PROFILE = { arn: 'arn:web', status: 'DELETING' };

/**
 * A change of an object that is being deleted, and the finalizers that the object has after the change. An empty list
 * means that the change removes the object.
 */
interface Step {
  readonly resource: string;
  readonly name: string;
  readonly finalizers: readonly string[];
  /**
   * Whether the audit log contains the request for the change; default true. The watch of the test receives the change
   * in both cases.
   */
  readonly isRecorded?: boolean;
}

const HELD: Step = { resource: 'awsfargateprofiles', name: 'web', finalizers: [FINALIZER] };
const RELEASED: Step = { ...HELD, finalizers: [] };
/**
 * The removal of the last finalizer by a client that was killed before the API server answered, so that the audit log
 * lacks the request.
 */
const RELEASED_UNRECORDED: Step = { ...RELEASED, isRecorded: false };
const FINALIZER_ADDED: Step = {
  resource: 'awsmanagedcontrolplanes',
  name: 'prod-control-plane',
  finalizers: [CONTROL_PLANE_FINALIZER],
};
/** The control plane has lost the finalizer of the manager, and still has the finalizer of its own controller. */
const FINALIZER_REMOVED: Step = { ...FINALIZER_ADDED, finalizers: ['theirs'] };
const CLUSTER_GONE: Step = { resource: 'clusters', name: 'prod', finalizers: [] };

const objectOf = ({ name, finalizers }: Step, version: number): RawObject => ({
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

/** Checks a teardown that consists of the given steps, one per millisecond, and returns the violations. */
function check(steps: readonly Step[], snapshots: readonly AccountSnapshot[] = []): readonly string[] {
  const moments = steps.map((step, at) => ({ ...step, at, object: objectOf(step, at + 1) }));
  const events = moments.map(({ resource, finalizers, at, object }): ReceivedEvent => ({
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
  return findTeardownViolations(OBJECTS, {
    audit,
    snapshots,
    removals: removalsIn({ name: 'prod', namespace: 'team-a' }, events),
  });
}

describe('the checks of a teardown', () => {
  for (const [what, release] of [
    ['in the audit log', RELEASED],
    ['missing in the audit log, because its sender was killed', RELEASED_UNRECORDED],
  ] as const) {
    describe(`with the finalizer removal of a profile ${what}`, () => {
      it('find nothing in a teardown in order', () => {
        expect(check([HELD, FINALIZER_ADDED, release, FINALIZER_REMOVED, CLUSTER_GONE])).to.deep.equal([]);
      });

      it('report a control plane finalizer that is removed before the profile', () => {
        expect(check([HELD, FINALIZER_ADDED, FINALIZER_REMOVED, release, CLUSTER_GONE])).to.deep.equal([
          'the control plane finalizer was removed before the object web',
        ]);
      });

      it('report this also if the finalizer is added again', () => {
        expect(
          check([HELD, FINALIZER_ADDED, FINALIZER_REMOVED, FINALIZER_ADDED, release, FINALIZER_REMOVED, CLUSTER_GONE]),
        ).to.deep.equal(['the control plane finalizer was removed before the object web']);
      });

      it('report a Cluster that is deleted before the profile', () => {
        expect(check([HELD, FINALIZER_ADDED, CLUSTER_GONE, release, FINALIZER_REMOVED])).to.deep.equal([
          'the Cluster was deleted before the object web',
        ]);
      });

      it('report an object that is deleted before its profile in EKS', () => {
        const still: AccountSnapshot = { at: 1, profiles: new Map([['team-a_web', PROFILE]]), roles: new Map() };
        const gone: AccountSnapshot = { at: 3, profiles: new Map(), roles: new Map() };
        expect(check([HELD, FINALIZER_ADDED, release, FINALIZER_REMOVED, CLUSTER_GONE], [still, gone])).to.deep.equal([
          `web: version ${what === 'in the audit log' ? 3 : 1}: the object was deleted while its profile was DELETING`,
        ]);
      });
    });
  }

  it('report a profile that is never deleted', () => {
    expect(check([HELD, FINALIZER_ADDED, FINALIZER_REMOVED, CLUSTER_GONE])).to.deep.equal([
      'the object web still exists',
      'the control plane finalizer was removed before the object web',
      'the Cluster was deleted before the object web',
    ]);
  });
});
