import { isRight } from 'fp-ts/lib/Either.js';
import type { AccountId } from '../../../api/names.ts';
import type { AWSManagedControlPlane } from '../../../api/external/index.ts';
import { credentialsName } from '../../../pkg/cloud/credentials/credentials-name.ts';
import type { Sessions } from '../../../pkg/cloud/session.ts';
import { Lru } from '../../../pkg/collections/lru.ts';
import type { ReconcileContext } from '../../../pkg/runtime/reconcile.ts';

/**
 * The maximum number of cached AWS accounts. The cache has one account for each namespace and identity. An entry takes
 * less than 200 bytes.
 */
const MAX_KNOWN = 1_000;

/**
 * Finds and caches the AWS accounts of control planes. An AWSManagedControlPlane does not contain its account. So this
 * class asks AWS STS with the credentials of the control plane's identity, which must allow the namespace of the
 * control plane.
 */
export class ControlPlaneAccounts {
  private readonly sessions: Sessions;
  private readonly known = new Lru<AccountId>({ maxEntries: MAX_KNOWN });

  constructor(sessions: Sessions) {
    this.sessions = sessions;
  }

  /** Returns the AWS account that is cached for the identity of the control plane; `undefined` if there is none. */
  accountOf(controlPlane: AWSManagedControlPlane): AccountId | undefined {
    return this.known.get(keyOfIdentity(controlPlane));
  }

  /**
   * Finds the AWS account of the control plane's identity and caches it. The credentials and their accounts are cached
   * elsewhere too, so only new credentials cost a call to AWS. Without credentials, the cached account stays.
   */
  async learn(controlPlane: AWSManagedControlPlane, { signal, logger }: ReconcileContext): Promise<void> {
    const { region, identityRef: identity, metadata } = controlPlane;
    if (region === undefined) return;
    const { namespace } = metadata;
    const request = { region, identity, namespace, signal, logger, mutationBudget: () => 0 };
    const opened = await this.sessions.open(request)();
    if (isRight(opened)) this.known.set(keyOfIdentity(controlPlane), opened.right.account);
  }
}

const keyOfIdentity = ({ metadata, identityRef }: AWSManagedControlPlane): string =>
  `${metadata.namespace} ${credentialsName(identityRef)}`;
