import { isRight } from 'fp-ts/lib/Either.js';
import { Lru } from 'controller-runtime/collections';
import type { ReconcileContext } from 'controller-runtime/controller';
import type { AccountId } from '../../../api/names.ts';
import type { AWSManagedControlPlane } from '../../../api/external/index.ts';
import { credentialsName, type Sessions } from '../../../pkg/cloud/index.ts';

/** The maximum number of entries, each of less than 200 bytes: one per namespace and identity. */
const MAX_KNOWN = 1_000;

/** An AWSManagedControlPlane does not contain its AWS account, so STS is called with its identity's credentials. */
export class ControlPlaneAccounts {
  private readonly sessions: Sessions;
  private readonly known = new Lru<AccountId>({ maxEntries: MAX_KNOWN });

  constructor(sessions: Sessions) {
    this.sessions = sessions;
  }

  accountOf(controlPlane: AWSManagedControlPlane): AccountId | undefined {
    return this.known.get(keyOfIdentity(controlPlane));
  }

  /** Asks STS, but only for new credentials. If no credentials are available, the cached account is kept. */
  async learn(controlPlane: AWSManagedControlPlane, { signal, logger }: ReconcileContext): Promise<void> {
    const { region, identityRef: identity, metadata } = controlPlane;
    if (region === undefined) return;
    const { namespace } = metadata;
    const request = { region, identity, namespace, signal, logger, mutationBudget: () => 0 };
    const opened = await this.sessions.open(request);
    if (isRight(opened)) this.known.set(keyOfIdentity(controlPlane), opened.right.account);
  }
}

const keyOfIdentity = ({ metadata, identityRef }: AWSManagedControlPlane): string =>
  `${metadata.namespace} ${credentialsName(identityRef)}`;
