import type { AwsTransport, AwsCredentialSource, Endpoints } from '../../pkg/cloud/index.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { Transport } from 'controller-runtime/client';
import type { Clock, Random } from 'controller-runtime/env';
import type { Profiler } from 'controller-runtime/http';
import type { ConnectToServer } from 'controller-runtime/kubeconfig';
import type { Logger } from 'controller-runtime/log';
import type { ManagerFlags } from './flags/parse-flags.ts';

/** The manager's access to the clock, randomness, the network, and the host. Tests replace each part. */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly setVerbosity: (verbosity: number) => void;
  readonly profiler: Profiler;
  readonly kube: Transport;
  /** Only for the Lease. Its separate connection pool keeps busy workers from delaying the renewal. */
  readonly kubeForLease: Transport;
  /** Connects to the API servers of EKS clusters, to drain a Fargate profile. */
  readonly connectToServer: ConnectToServer;
  readonly aws: AwsTransport;
  readonly endpoints: Endpoints;
  /** The manager's own credentials. */
  readonly credentials: AwsCredentialSource;
  /** The manager assumes IAM roles in this region, if known. It is also the default of spec.eksCluster.region. */
  readonly awsRegion: string | undefined;
  /** Part of the holder identity in the Lease. */
  readonly hostname: string;
  readonly namespaces: Namespaces;
}

/** The namespaces of the Lease, and of the Secrets with AWS credentials. */
interface Namespaces {
  readonly lease: string;
  readonly secrets: string;
}

/**
 * Outside a pod, the flags must set the namespaces, because the namespace of a kubeconfig's context changes with every
 * `kubectl config set-context`: two managers could use different Leases, or AWS credentials could come from another
 * team's Secret. A Left is a sentence for the user.
 */
export function selectNamespaces(
  flags: Pick<ManagerFlags, 'election' | 'managerNamespace' | 'staticIdentityNamespace'>,
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

/** On EKS, IAM roles for service accounts and Pod Identity set both variables. */
export const awsRegionOf = ({ AWS_REGION, AWS_DEFAULT_REGION }: NodeJS.ProcessEnv): string | undefined =>
  AWS_REGION || AWS_DEFAULT_REGION || undefined;
