import * as E from 'fp-ts/lib/Either.js';
import type { Store, TypedStoreReader } from 'controller-runtime/cache';
import { describeProblems } from 'controller-runtime/schema';
import type { AWSClusterRoleIdentity, AWSClusterStaticIdentity, Identity } from '../../api/external/identity.ts';
import {
  CONTROLLER_IDENTITY_KIND,
  IdentityKind,
  ROLE_IDENTITY_KIND,
  STATIC_IDENTITY_KIND,
} from '../../api/external/identity.ts';
import { credentialsName } from '../../pkg/cloud/index.ts';
import type {
  IdentityField,
  IdentityRef,
  CredentialsProblem,
  CredentialsProblemReason,
} from '../../pkg/cloud/index.ts';
import { checkAllowedNamespaces, evaluateSelector } from './allowed-namespaces.ts';

/** The only name that CAPA allows for an AWSClusterControllerIdentity. */
const CONTROLLER_IDENTITY_NAME = 'default';
/** The `allowedNamespaces` of this identity decide which namespaces may use the manager's credentials. */
export const MANAGER_IDENTITY: IdentityRef = { kind: CONTROLLER_IDENTITY_KIND, name: CONTROLLER_IDENTITY_NAME };

export interface IdentityCaches {
  readonly identitiesOf: (kind: IdentityKind) => Pick<TypedStoreReader<Identity>, 'lookup' | 'served'>;
  readonly namespaces: Pick<Store, 'lookup'>;
}

interface CredentialChain {
  /** The start of the chain. If undefined, the chain starts with the manager's credentials. */
  readonly staticIdentity?: AWSClusterStaticIdentity;
  /**
   * In the order in which the roles are assumed: the first with the credentials of the static identity or the manager,
   * each further role with the session of the previous one.
   */
  readonly roleIdentities: readonly AWSClusterRoleIdentity[];
}

const NOT_SELECTED = 'spec.allowedNamespaces of the identity does not list or select this namespace';

type ChainResult<A> = E.Either<CredentialsProblem, A>;

export const identityRefOf = ({ kind, metadata }: Identity): IdentityRef => ({ kind, name: metadata.name });

/**
 * Follows `sourceIdentityRef` to the source of the credentials. Each identity on the way must allow the namespace, and
 * must not occur twice.
 *
 * Without `reference`, the result is the manager's own credentials. If the AWSClusterControllerIdentity `default`
 * exists, it must allow the namespace in this case too: without this check, a client could gain these credentials by
 * removing the identity reference from an object's status.
 */
export function resolveIdentity(
  reference: IdentityRef | undefined,
  namespace: string,
  caches: IdentityCaches,
  field: IdentityField = 'controlPlane',
): ChainResult<CredentialChain> {
  const roles: AWSClusterRoleIdentity[] = [];
  let staticIdentity: AWSClusterStaticIdentity | undefined;
  const seen = new Set<string>();
  let source: string | undefined;
  let next = reference ?? findManagerIdentity(caches);
  while (next !== undefined) {
    const name = credentialsName(next);
    const first = INTRODUCTIONS[field][reference === undefined ? 'absent' : 'named'];
    const introduction = source === undefined ? first : `spec.sourceIdentityRef of ${source} names`;
    if (seen.has(name)) {
      // Omits the identities that only lead to the loop.
      const loop = [...seen].slice([...seen].indexOf(name));
      return failWith('IdentityLoop', `the source identities form a loop: ${[...loop, name].join(', then ')}`);
    }
    seen.add(name);
    source = name;
    const found = findIdentity(next, introduction, caches);
    if (E.isLeft(found)) return found;
    const identity = found.right;
    const problem = checkNamespace(identity, namespace, caches);
    if (problem !== undefined) return E.left(problem);
    if (identity.kind === STATIC_IDENTITY_KIND) staticIdentity = identity;
    if (identity.kind === ROLE_IDENTITY_KIND) roles.push(identity);
    next = identity.kind === ROLE_IDENTITY_KIND ? identity.spec.sourceIdentityRef : undefined;
  }
  return E.right({ ...(staticIdentity && { staticIdentity }), roleIdentities: roles.toReversed() });
}

function findManagerIdentity({ identitiesOf }: IdentityCaches): IdentityRef | undefined {
  const cache = identitiesOf(CONTROLLER_IDENTITY_KIND);
  const isAbsent = !cache.served || cache.lookup({ namespace: '', name: CONTROLLER_IDENTITY_NAME }).kind === 'absent';
  return isAbsent ? undefined : MANAGER_IDENTITY;
}

const INTRODUCTIONS: Readonly<Record<IdentityField, { readonly named: string; readonly absent: string }>> = {
  controlPlane: {
    named: 'spec.identityRef of the control plane names',
    absent: 'the control plane has no spec.identityRef and so uses',
  },
  eksCluster: {
    named: 'spec.eksCluster.identityRef names',
    absent: 'spec.eksCluster has no identityRef, so this object uses',
  },
};

function findIdentity(
  reference: IdentityRef,
  introduction: string,
  { identitiesOf }: IdentityCaches,
): ChainResult<Identity> {
  const message = `${introduction} ${credentialsName(reference)}`;
  const kind = IdentityKind.decode(reference.kind);
  if (E.isLeft(kind)) return failWith('IdentityInvalid', `${message}, which has an unknown kind`);
  const rule = `an identity of this kind must have the name "${CONTROLLER_IDENTITY_NAME}"`;
  if (kind.right === CONTROLLER_IDENTITY_KIND && reference.name !== CONTROLLER_IDENTITY_NAME)
    return failWith('IdentityInvalid', `${message}, but ${rule}`);
  const lookup = identitiesOf(kind.right).lookup({ namespace: '', name: reference.name });
  if (lookup.kind === 'absent')
    return failWith('IdentityNotFound', `${message}, which does not exist`, credentialsName(reference));
  if (lookup.kind === 'unknown')
    return E.left({
      reason: 'IdentityUnreadable',
      message: `${message}, which the controller cannot read: ${lookup.reason}`,
      ...(lookup.obstacle && { obstacle: lookup.obstacle }),
    });
  const { decoded } = lookup;
  if (E.isRight(decoded)) return decoded;
  return failWith('IdentityInvalid', `${credentialsName(reference)} is not valid: ${describeProblems(decoded.left)}`);
}

function checkNamespace(
  identity: Identity,
  namespace: string,
  { namespaces }: IdentityCaches,
): CredentialsProblem | undefined {
  const allowed = identity.spec?.allowedNamespaces;
  const permission = checkAllowedNamespaces(allowed, namespace);
  if (permission.kind === 'granted') return undefined;
  const name = credentialsName(identityRefOf(identity));
  const denied = (because: string): CredentialsProblem => ({
    reason: 'IdentityNotAllowed',
    message: `${name} does not allow namespace "${namespace}": ${because}`,
  });
  if (permission.kind === 'denied')
    return denied(allowed ? NOT_SELECTED : 'an identity without spec.allowedNamespaces allows no namespace');
  const lookup = namespaces.lookup({ namespace: '', name: namespace });
  if (lookup.kind !== 'found') {
    const because = lookup.kind === 'unknown' ? lookup.reason : 'the namespace is not known yet';
    const message = `${name} selects namespaces by label, but the controller cannot read the labels of namespace "${namespace}": ${because}`;
    const obstacle = lookup.kind === 'unknown' ? lookup.obstacle : undefined;
    return { reason: 'IdentityUnreadable', message, ...(obstacle && { obstacle }) };
  }
  const selected = evaluateSelector(permission.selector, lookup.object.metadata.labels ?? {});
  if (E.isRight(selected)) return selected.right ? undefined : denied(NOT_SELECTED);
  const message = `spec.allowedNamespaces.selector of ${name} is not a valid label selector: ${selected.left}`;
  return { reason: 'IdentityInvalid', message };
}

const failWith = (reason: CredentialsProblemReason, message: string, missing?: string): ChainResult<never> =>
  E.left({ reason, message, ...(missing !== undefined && { missing }) });
