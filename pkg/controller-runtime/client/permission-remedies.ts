import { KubeError } from './errors.ts';

// Remedies end without a period.

export const GIVE_CREDENTIALS = 'Give the manager credentials that the API server accepts';

/** Matches messages from the API server's authorizers, e.g. RBAC, but not from admission webhooks. */
export const NOT_GRANTED = /User "[^"]*" cannot \w+ (?:resource|path)/;

/** Matches messages from the admission plugin NamespaceLifecycle. */
const NO_NAMESPACE = /namespaces "([^"]*)" not found/;

/** What a user can do, without a final period, if the manager lacks a permission. Only the program knows its roles. */
export interface GrantOption {
  readonly grant?: string;
}

/** Returns the remedy for rejected credentials, a missing permission, or a missing namespace. */
export function remedyOf(error: unknown, { grant }: GrantOption): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  if (error.status === 401) return GIVE_CREDENTIALS;
  const namespace = NO_NAMESPACE.exec(error.message)?.[1];
  if (namespace !== undefined) return `Create namespace ${namespace}`;
  return NOT_GRANTED.test(error.message) ? grant : undefined;
}
