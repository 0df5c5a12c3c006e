import { KubeError } from './errors.ts';

/** What a human can do where the API server does not know who asks; without the closing full stop. */
export const GIVE_CREDENTIALS = 'Give the manager credentials that the API server knows';
/** Likewise, where that one may not. */
export const GRANT =
  "Apply the manager's roles and role bindings again (config/rbac), or put right what was changed in them";

/** The words of an authorizer, which name user, verb and resource; an admission webhook that forbids has others. */
export const NOT_GRANTED = /User "[^"]*" cannot \w+ (?:resource|path)/;

/** What the API server says to a create in a namespace that does not exist (its admission plugin NamespaceLifecycle). */
const NO_NAMESPACE = /namespaces "([^"]*)" not found/;

/** The cure of a request that was refused for who made it, or for where; `undefined` for anything else. */
export function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.status === 401) return GIVE_CREDENTIALS;
  const namespace = NO_NAMESPACE.exec(error.message)?.[1];
  if (namespace !== undefined) return `Create namespace ${namespace}`;
  return NOT_GRANTED.test(error.message) ? GRANT : undefined;
}
