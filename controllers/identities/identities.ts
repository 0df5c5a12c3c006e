import { isRight } from 'fp-ts/lib/Either.js';
import type { Identity } from '../../api/external/identity.ts';
import {
  CONTROLLER_IDENTITY_KIND,
  IDENTITY_GROUP,
  IDENTITY_PLURALS,
  IDENTITY_VERSION,
  ROLE_IDENTITY_KIND,
  STATIC_IDENTITY_KIND,
  decodeIdentity,
} from '../../api/external/identity.ts';
import type { AssumingConfig } from '../../pkg/cloud/assumed-role.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { CredentialSource, CredentialSources } from '../../pkg/cloud/credentials.ts';
import type { IdentityRef } from '../../pkg/cloud/types.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import { findServed } from '../../pkg/kube/discovery.ts';
import { jsonEqual } from '../../pkg/kube/patches.ts';
import { Reflector } from '../../pkg/kube/reflector.ts';
import type { Change } from '../../pkg/kube/store.ts';
import { Store } from '../../pkg/kube/store.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import type { Runnable } from '../../pkg/runtime/types.ts';
import { dependants } from './affected.ts';
import type { World } from './resolve.ts';
import { refOf } from './resolve.ts';
import { Secrets } from './secrets.ts';
import { identitySources } from './sources.ts';

const KINDS = [CONTROLLER_IDENTITY_KIND, STATIC_IDENTITY_KIND, ROLE_IDENTITY_KIND] as const;
const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces' };

/** Whether an identity, used from a namespace, may give other credentials now than before, or some instead of none. */
export type Affects = (identity: IdentityRef, namespace: string) => boolean;

export interface Identities {
  readonly sources: CredentialSources;
  /** To be started before anybody works with the sources. */
  readonly runnables: readonly Runnable[];
  /** Told of each change of identities, their Secrets or the labels of namespaces that a running manager sees. */
  onChange(handler: (affects: Affects) => void): void;
}

export interface IdentitiesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The manager's own, where the Secrets of AWSClusterStaticIdentities are. */
  readonly namespace: string;
  /** The manager's own credentials. */
  readonly own: CredentialSource;
  readonly assuming: AssumingConfig;
}

/** The identities of Cluster API Provider AWS, whose CRDs may come and go while the manager runs. */
export function newIdentities(options: IdentitiesOptions): Identities {
  const { client, clock, logger, namespace, own, assuming } = options;
  const handlers = new Set<(affects: Affects) => void>();
  const tell = (affects: Affects): void => {
    for (const handler of handlers) handler(affects);
  };
  const newStore = (name: string): Store => new Store({ name, logger });
  const stores = {
    [CONTROLLER_IDENTITY_KIND]: newStore(`${IDENTITY_PLURALS[CONTROLLER_IDENTITY_KIND]}.${IDENTITY_GROUP}`),
    [STATIC_IDENTITY_KIND]: newStore(`${IDENTITY_PLURALS[STATIC_IDENTITY_KIND]}.${IDENTITY_GROUP}`),
    [ROLE_IDENTITY_KIND]: newStore(`${IDENTITY_PLURALS[ROLE_IDENTITY_KIND]}.${IDENTITY_GROUP}`),
  };
  const namespaces = newStore('namespaces');
  const secrets = new Secrets({ client, clock, namespace });
  const world: World = {
    identity: (kind, name) => stores[kind].lookup({ namespace: '', name }),
    namespace: (name) => namespaces.lookup({ namespace: '', name }),
  };

  const affectedBy = (changed: readonly IdentityRef[]): Affects => {
    const affected = dependants(changed, identitiesIn(stores[ROLE_IDENTITY_KIND]));
    return (identity) => affected.has(credentialsName(identity));
  };
  for (const kind of KINDS) {
    stores[kind].onChange((change) => {
      if (isNews(change, ({ metadata, spec }) => [metadata.uid, spec])) {
        tell(affectedBy([{ kind, name: change.object.metadata.name }]));
      }
    });
  }
  namespaces.onChange((change) => {
    if (!isNews(change, ({ metadata }) => metadata.labels)) return;
    const { name } = change.object.metadata;
    tell((_identity, from) => from === name);
  });
  secrets.onChange((name) => {
    const users = identitiesIn(stores[STATIC_IDENTITY_KIND]).filter(
      (identity) => identity.kind === STATIC_IDENTITY_KIND && identity.spec.secretRef === name,
    );
    tell(affectedBy(users.map(refOf)));
  });

  const served = (plural: string) => (signal: AbortSignal) =>
    findServed(client, { group: IDENTITY_GROUP, plural, versions: [IDENTITY_VERSION] }, signal);
  return {
    sources: identitySources({ own, world, secrets, assuming }),
    runnables: [
      ...KINDS.map((kind) => cache(options, stores[kind], served(IDENTITY_PLURALS[kind]), tell)),
      cache(options, namespaces, async () => NAMESPACES, tell),
      secrets,
    ],
    onChange: (handler) => handlers.add(handler),
  };
}

/**
 * Most objects need no identity: their work begins also where identities cannot be listed. That these can be again, or
 * for the first time, is told once it is so.
 */
function cache(
  { client, clock, random, logger }: IdentitiesOptions,
  store: Store,
  resolve: (signal: AbortSignal) => Promise<Resource | undefined>,
  tell: (affects: Affects) => void,
): Runnable {
  const reflector = new Reflector({ client, store, resolve, clock, random, logger });
  return {
    name: reflector.name,
    needsLeadership: false,
    run: (signal) => reflector.run(signal),
    hindrance: () => reflector.hindrance(),
    async started(signal) {
      await reflector.tried(signal);
      store.onSync((synced) => {
        if (synced) tell(() => true);
      });
    },
  };
}

/** The first list is told as a whole. */
const isNews = (change: Change, view: (object: KubeObject) => unknown): boolean =>
  change.type === 'updated'
    ? !jsonEqual(view(change.previous), view(change.object))
    : change.type === 'deleted' || !change.isInInitialList;

function identitiesIn(store: Store): readonly Identity[] {
  const listing = store.list();
  return listing.kind === 'listed'
    ? listing.objects.flatMap((object) => {
        const decoded = decodeIdentity(object);
        return isRight(decoded) ? [decoded.right] : [];
      })
    : [];
}
