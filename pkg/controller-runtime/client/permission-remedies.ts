import { KubeError } from './errors.ts';

// Remedies have no full stop at their end.

export const GIVE_CREDENTIALS = 'Give the manager credentials that the API server accepts';
export const GRANT =
  'Apply the roles and role bindings of the manager again (config/rbac), or undo the changes that were made to them';

/** The message of an authorizer of the API server, e.g. RBAC, and not of an admission webhook. */
export const NOT_GRANTED = /User "[^"]*" cannot \w+ (?:resource|path)/;

/** The answer of the admission plugin NamespaceLifecycle. */
const NO_NAMESPACE = /namespaces "([^"]*)" not found/;

/** The remedy for rejected credentials, a missing permission or a missing namespace. */
export function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.status === 401) return GIVE_CREDENTIALS;
  const namespace = NO_NAMESPACE.exec(error.message)?.[1];
  if (namespace !== undefined) return `Create namespace ${namespace}`;
  return NOT_GRANTED.test(error.message) ? GRANT : undefined;
}
