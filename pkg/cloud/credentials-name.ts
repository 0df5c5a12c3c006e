import type { IdentityRef } from './types.ts';

/** What people call the owner of credentials: `AWSClusterStaticIdentity "team-a"`; without an identity, the manager. */
export const credentialsName = (identity: IdentityRef | undefined): string =>
  identity === undefined ? 'the manager itself' : `${identity.kind} "${identity.name}"`;
