import * as E from 'fp-ts/lib/Either.js';
import type { AWSClusterRoleIdentity, AWSClusterStaticIdentity, Identity } from '../../api/external/identity.ts';
import {
  CONTROLLER_IDENTITY_KIND,
  IdentityKind,
  ROLE_IDENTITY_KIND,
  STATIC_IDENTITY_KIND,
  decodeIdentity,
} from '../../api/external/identity.ts';
import { describeProblem } from '../../api/schema/problem.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { CredentialsProblem, CredentialsProblemReason, IdentityRef } from '../../pkg/cloud/types.ts';
import type { Lookup } from '../../pkg/kube/store.ts';
import { permissionFor } from './permission.ts';
import { selects } from './selector.ts';

/** The one name that an AWSClusterControllerIdentity may have. */
const CONTROLLER_IDENTITY_NAME = 'default';

/** What is known of identities and namespaces. */
export interface World {
  identity(kind: IdentityKind, name: string): Lookup;
  namespace(name: string): Lookup;
}

/** Where an identity's credentials come from. */
export interface Chain {
  /** Absent: the manager's own credentials. */
  readonly root?: AWSClusterStaticIdentity;
  /** To be assumed one with the credentials of the other, in this order. */
  readonly roles: readonly AWSClusterRoleIdentity[];
}

type Result<A> = E.Either<CredentialsProblem, A>;

/** How others refer to an identity. */
export const refOf = ({ kind, metadata }: Identity): IdentityRef => ({ kind, name: metadata.name });

/**
 * Follows an identity to where its credentials come from. Each identity on the way must allow the namespace, and none may
 * come twice. No identity at all means the manager's own credentials, which nobody has to allow.
 */
export function resolve(reference: IdentityRef | undefined, namespace: string, world: World): Result<Chain> {
  const roles: AWSClusterRoleIdentity[] = [];
  const seen: string[] = [];
  let next = reference;
  while (next !== undefined) {
    const name = credentialsName(next);
    const source = seen.at(-1);
    const namedBy =
      source === undefined ? 'spec.identityRef of the control plane' : `spec.sourceIdentityRef of ${source}`;
    if (seen.includes(name)) return problem('IdentityLoop', loopWords([...seen, name]));
    seen.push(name);
    const found = find(next, namedBy, world);
    if (E.isLeft(found)) return found;
    const identity = found.right;
    const refusal = refusalOf(identity, namespace, world);
    if (refusal !== undefined) return E.left(refusal);
    switch (identity.kind) {
      case CONTROLLER_IDENTITY_KIND:
        return E.right({ roles: roles.toReversed() });
      case STATIC_IDENTITY_KIND:
        return E.right({ root: identity, roles: roles.toReversed() });
      case ROLE_IDENTITY_KIND:
        roles.push(identity);
        next = identity.spec.sourceIdentityRef;
    }
  }
  return E.right({ roles: roles.toReversed() });
}

function find(reference: IdentityRef, namedBy: string, world: World): Result<Identity> {
  const words = `${namedBy} names ${credentialsName(reference)}`;
  const kind = IdentityKind.decode(reference.kind);
  if (E.isLeft(kind)) return problem('IdentityInvalid', `${words}, which is of no known kind of identity`);
  if (kind.right === CONTROLLER_IDENTITY_KIND && reference.name !== CONTROLLER_IDENTITY_NAME) {
    return problem('IdentityInvalid', `${words}, but the only one there can be is "${CONTROLLER_IDENTITY_NAME}"`);
  }
  const lookup = world.identity(kind.right, reference.name);
  switch (lookup.kind) {
    case 'absent':
      return problem('IdentityNotFound', `${words}, which does not exist`);
    case 'unknown':
      return problem('IdentityUnreadable', `${words}, which cannot be read: ${lookup.why}`);
    case 'found':
      return E.mapLeft((problems: readonly Parameters<typeof describeProblem>[0][]): CredentialsProblem => ({
        reason: 'IdentityInvalid',
        message: `${credentialsName(reference)} cannot be understood: ${problems.map(describeProblem).join('; ')}`,
      }))(decodeIdentity(lookup.object));
  }
}

function refusalOf(identity: Identity, namespace: string, world: World): CredentialsProblem | undefined {
  const allowed = identity.spec?.allowedNamespaces;
  const permission = permissionFor(allowed, namespace);
  if (permission.kind === 'granted') return undefined;
  const name = credentialsName(refOf(identity));
  const refused = (why: string): CredentialsProblem => ({
    reason: 'IdentityNotAllowed',
    message: `${name} may not be used for objects of namespace "${namespace}": ${why}`,
  });
  if (permission.kind === 'refused') {
    return refused(
      allowed === undefined || allowed === null
        ? 'it has no spec.allowedNamespaces, which allows none'
        : 'its spec.allowedNamespaces does not name or select it',
    );
  }
  const lookup = world.namespace(namespace);
  if (lookup.kind !== 'found') {
    const why = lookup.kind === 'unknown' ? lookup.why : 'it is not known';
    return {
      reason: 'IdentityUnreadable',
      message: `${name} selects namespaces by their labels, and those of "${namespace}" cannot be read: ${why}`,
    };
  }
  const selected = selects(permission.selector, lookup.object.metadata.labels ?? {});
  if (E.isLeft(selected)) {
    return {
      reason: 'IdentityInvalid',
      message: `${name} has a spec.allowedNamespaces.selector that is none: ${selected.left}`,
    };
  }
  return selected.right ? undefined : refused('its spec.allowedNamespaces does not name or select it');
}

const problem = (reason: CredentialsProblemReason, message: string): Result<never> => E.left({ reason, message });

/** From where the circle closes: who leads to it is not part of it. */
function loopWords(seen: readonly string[]): string {
  const circle = seen.slice(seen.indexOf(seen.at(-1) ?? ''));
  return `the source identities lead in a circle: ${circle.join(', then ')}`;
}
