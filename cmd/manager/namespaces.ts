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
 * Selects the namespaces from the flags and the namespace of the pod. Outside a pod the flags must name the namespaces:
 * the namespace of a kubeconfig's context changes with every `kubectl config set-context`. Two managers could then use
 * two Leases, or the manager could take AWS credentials from a Secret of another team. Returns Left with a sentence for
 * the user.
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
