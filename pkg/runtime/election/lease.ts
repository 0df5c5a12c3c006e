import { isLeft } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import type { KubeObject, Resource } from '../../kube/types.ts';

export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

const LeaseSpec = t.readonly(
  t.partial({
    /** The identity of the process that holds the lease; empty or absent when no process holds it. */
    holderIdentity: t.string,
    leaseDurationSeconds: t.number,
    /**
     * When the holder acquired the lease, as MicroTime. The time is for people: candidates do not judge expiry by it.
     */
    acquireTime: t.string,
    renewTime: t.string,
    /** How often the lease has gone from one holder to another. */
    leaseTransitions: t.number,
  }),
);
export type LeaseSpec = t.TypeOf<typeof LeaseSpec>;

/** Decodes the spec of a Lease. Throws an error that names the fields whose type is wrong. */
export function leaseSpecOf(object: KubeObject): LeaseSpec {
  const decoded = LeaseSpec.decode(object['spec'] ?? {});
  if (isLeft(decoded)) {
    const fields = decoded.left.map(({ context }) => context.map(({ key }) => key).join('.')).join(', ');
    throw new Error(`the lease ${object.metadata.name} cannot be read: spec${fields} has the wrong type`);
  }
  return decoded.right;
}
