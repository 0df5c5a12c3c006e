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
  const sources = identities.flatMap((identity) =>
    identity.kind === ROLE_IDENTITY_KIND && identity.spec.sourceIdentityRef !== undefined
      ? [{ name: credentialsName(identityRefOf(identity)), source: credentialsName(identity.spec.sourceIdentityRef) }]
      : [],
  );
  for (let before = -1; before !== dependents.size;) {
    before = dependents.size;
    for (const { name, source } of sources) if (dependents.has(source)) dependents.add(name);
  }
  return dependents;
}
