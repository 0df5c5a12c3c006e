import type { Identity } from '../../api/external/identity.ts';
import { ROLE_IDENTITY_KIND } from '../../api/external/identity.ts';
import { credentialsName } from '../../pkg/cloud/credentials/credentials-name.ts';
import type { IdentityRef } from '../../pkg/cloud/identity-ref.ts';
import { identityRefOf } from './identity-chain.ts';

/**
 * Returns the names of the identities in `changed`, and of all identities that use one of them as source, directly or
 * through other identities.
 */
export function findDependentIdentities(
  changed: readonly IdentityRef[],
  identities: readonly Identity[],
): ReadonlySet<string> {
  const dependents = new Set(changed.map(credentialsName));
  const bySource = Map.groupBy(identities, (identity) =>
    identity.kind === ROLE_IDENTITY_KIND && identity.spec.sourceIdentityRef !== undefined
      ? credentialsName(identity.spec.sourceIdentityRef)
      : undefined,
  );
  // The loop also visits the names that it adds.
  for (const source of dependents)
    for (const user of bySource.get(source) ?? []) dependents.add(credentialsName(identityRefOf(user)));
  return dependents;
}
