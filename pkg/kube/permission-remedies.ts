import { KubeError } from './errors.ts';

/**
 * The remedy in messages if the API server does not accept the manager's credentials. It has no full stop at its end.
 */
export const GIVE_CREDENTIALS = 'Give the manager credentials that the API server accepts';
/** The remedy in messages if the manager lacks a permission. It has no full stop at its end. */
export const GRANT =
  'Apply the roles and role bindings of the manager again (config/rbac), or undo the changes that were made to them';

/**
 * Matches the message of an authorizer of the API server (e.g. RBAC), which names user, verb and resource. An admission
 * webhook that denies a request has another message.
 */
export const NOT_GRANTED = /User "[^"]*" cannot \w+ (?:resource|path)/;

/**
 * Matches the API server's answer to a create in a namespace that does not exist (admission plugin NamespaceLifecycle).
 */
const NO_NAMESPACE = /namespaces "([^"]*)" not found/;

/**
 * Returns the remedy for rejected credentials, a missing permission or a missing namespace; `undefined` for other
 * errors.
 */
export function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.status === 401) return GIVE_CREDENTIALS;
  const namespace = NO_NAMESPACE.exec(error.message)?.[1];
  if (namespace !== undefined) return `Create namespace ${namespace}`;
  return NOT_GRANTED.test(error.message) ? GRANT : undefined;
}
