import { isRight } from 'fp-ts/lib/Either.js';
import type { AccountId } from '../../api/names.ts';
import type { AWSManagedControlPlane } from '../../api/external/index.ts';
import { credentialsName } from '../../pkg/cloud/credentials/credentials-name.ts';
import type { Sessions } from '../../pkg/cloud/types.ts';
import { Lru } from '../../pkg/collections/lru.ts';
import type { ReconcileContext } from '../../pkg/runtime/types.ts';

/**
 * The maximum number of cached accounts. The cache has one account for each namespace and identity. An entry takes less
 * than 200 bytes.
 */
const MAX_KNOWN = 1_000;

/**
 * Finds and caches the AWS accounts of control planes. A control plane does not contain its account. So this class asks
 * AWS STS with the credentials of the control plane's identity, which must allow the namespace of the control plane.
 */
export class ControlPlaneAccounts {
  private readonly sessions: Sessions;
  private readonly known = new Lru<AccountId>({ maxEntries: MAX_KNOWN });

  constructor(sessions: Sessions) {
    this.sessions = sessions;
  }

  /** The account that was learnt last for the identity of the control plane; `undefined` if none was learnt. */
  accountOf(controlPlane: AWSManagedControlPlane): AccountId | undefined {
    return this.known.get(keyOfIdentity(controlPlane));
  }

  /**
   * Learns the account of the control plane. The sessions cache credentials and accounts, so only new credentials cost
   * a call to AWS. While there are no credentials, the last known account stays.
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
