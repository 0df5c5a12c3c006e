import type { Identity } from '../../api/external/identity.ts';
import { ROLE_IDENTITY_KIND } from '../../api/external/identity.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { IdentityRef } from '../../pkg/cloud/types.ts';
import { refOf } from './resolve.ts';

/** The identities whose credentials come from one of `changed`, by name, these included. */
export function dependants(changed: readonly IdentityRef[], identities: readonly Identity[]): ReadonlySet<string> {
  const affected = new Set(changed.map(credentialsName));
  const followers = identities.flatMap((identity) =>
    identity.kind === ROLE_IDENTITY_KIND && identity.spec.sourceIdentityRef !== undefined
      ? [{ name: credentialsName(refOf(identity)), source: credentialsName(identity.spec.sourceIdentityRef) }]
      : [],
  );
  for (let before = -1; before !== affected.size;) {
    before = affected.size;
    for (const { name, source } of followers) if (affected.has(source)) affected.add(name);
  }
  return affected;
}
