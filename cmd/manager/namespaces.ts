import * as E from 'fp-ts/lib/Either.js';
import type { ManagerFlags } from './flags/parse-flags.ts';

/** The namespaces in which the manager itself keeps or reads objects. */
export interface Namespaces {
  readonly lease: string;
  /** The namespace of the Secrets of AWSClusterStaticIdentities. */
  readonly secrets: string;
}

type NamespaceFlags = Pick<ManagerFlags, 'election' | 'managerNamespace' | 'staticIdentityNamespace'>;

/**
 * Selects the namespace of the Lease and the namespace of the Secrets from the flags, or else the namespace of the pod.
 * Outside a pod the flags must name the namespaces, because the namespace of a kubeconfig's context changes with every
 * `kubectl config set-context`. Two managers could then use two Leases, or the manager could take AWS credentials from
 * a Secret of another team. If a flag is missing, returns a sentence for the user as the Left of an Either.
 */
export function selectNamespaces(
  flags: NamespaceFlags,
  podNamespace: string | undefined,
): E.Either<string, Namespaces> {
  const own = flags.managerNamespace ?? podNamespace;
  const lease = flags.election === undefined ? own : (flags.election.namespace ?? own);
  const secrets = flags.staticIdentityNamespace ?? own;
  if (secrets !== undefined && (lease !== undefined || flags.election === undefined))
    return E.right({ lease: lease ?? secrets, secrets });
  return E.left(
    '--manager-namespace is required outside a pod: it names the namespace of the Lease and of the Secrets of ' +
      "AWSClusterStaticIdentities, e.g. --manager-namespace=capaf-system. The namespace of the kubeconfig's context is not used",
  );
}
