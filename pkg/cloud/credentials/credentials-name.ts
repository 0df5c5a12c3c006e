import type { IdentityRef } from '../identity-ref.ts';

/**
 * Names the owner of credentials for messages: an identity, e.g. `AWSClusterStaticIdentity "team-a"`, or the manager
 * itself if `identity` is undefined.
 */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? 'the manager itself' : `${identity.kind} "${identity.name}"`;
