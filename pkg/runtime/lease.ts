import { isLeft } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import type { KubeObject, Resource } from '../kube/types.ts';

export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** What candidates tell each other in a Lease of `coordination.k8s.io/v1`. */
const LeaseSpec = t.readonly(
  t.partial({
    /** Empty or absent: nobody's. */
    holderIdentity: t.string,
    leaseDurationSeconds: t.number,
    /** MicroTime: what people read; nobody's expiry is judged from it. */
    acquireTime: t.string,
    renewTime: t.string,
    /** How often the lease went from one holder to another. */
    leaseTransitions: t.number,
  }),
);
export type LeaseSpec = t.TypeOf<typeof LeaseSpec>;

/** The record in a Lease. Throws when the object is none. */
export function leaseSpecOf(object: KubeObject): LeaseSpec {
  const decoded = LeaseSpec.decode(object['spec'] ?? {});
  if (isLeft(decoded)) {
    const fields = decoded.left.map(({ context }) => context.map(({ key }) => key).join('.')).join(', ');
    throw new Error(`the lease ${object.metadata.name} cannot be read: spec${fields} has the wrong type`);
  }
  return decoded.right;
}
