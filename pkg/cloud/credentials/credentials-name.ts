import type { IdentityRef } from '../identity-ref.ts';

/** The owner of the manager's own credentials, as messages name it. */
export const MANAGER_ITSELF = 'the manager itself';

/**
 * Names the owner of credentials for messages: an identity, e.g. `AWSClusterStaticIdentity "team-a"`, or the manager
 * itself if `identity` is undefined.
 */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? MANAGER_ITSELF : `${identity.kind} "${identity.name}"`;
