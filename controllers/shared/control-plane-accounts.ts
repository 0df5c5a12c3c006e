import { isRight } from 'fp-ts/lib/Either.js';
import type { AccountId } from '../../api/names.ts';
import type { AWSManagedControlPlane } from '../../api/external/index.ts';
import { credentialsName } from '../../pkg/cloud/credentials/credentials-name.ts';
import type { Sessions } from '../../pkg/cloud/types.ts';
import { Lru } from '../../pkg/collections/lru.ts';
import type { ReconcileContext } from '../../pkg/runtime/types.ts';

/** The maximum number of identities whose account is known, per namespace and identity. An entry takes less than 200 bytes. */
const MAX_KNOWN = 1_000;

/**
 * Knows the AWS accounts of control planes. A control plane does not tell its account, so AWS STS is asked with the credentials
 * of its identity, under the rules of the identity for the namespace of the control plane.
 */
export class ControlPlaneAccounts {
  private readonly sessions: Sessions;
  private readonly known = new Lru<AccountId>({ maxEntries: MAX_KNOWN });

  constructor(sessions: Sessions) {
    this.sessions = sessions;
  }

  /** The account of the control plane at the last time when it could be learnt; `undefined` if it never could. */
  accountOf(controlPlane: AWSManagedControlPlane): AccountId | undefined {
    return this.known.get(keyOfIdentity(controlPlane));
  }

  /**
   * Learns the account of the control plane. The sessions cache credentials and account, so this is a call to AWS only for new
   * credentials. While there are no credentials, the last known account stays.
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
