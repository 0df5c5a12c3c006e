import { KubeError } from './errors.ts';

/** What to do when the API server does not accept the manager's credentials. The text has no full stop at its end. */
export const GIVE_CREDENTIALS = 'Give the manager credentials that the API server accepts';
/** What to do when the manager lacks a permission. The text has no full stop at its end. */
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
 * What a user can do about rejected credentials, a missing permission or a missing namespace; `undefined` for other
 * errors.
 */
export function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.status === 401) return GIVE_CREDENTIALS;
  const namespace = NO_NAMESPACE.exec(error.message)?.[1];
  if (namespace !== undefined) return `Create namespace ${namespace}`;
  return NOT_GRANTED.test(error.message) ? GRANT : undefined;
}
