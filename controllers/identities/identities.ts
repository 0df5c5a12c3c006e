import { isRight } from 'fp-ts/lib/Either.js';
import { type Change, Reflector, Store, TypedStore } from 'controller-runtime/cache';
import { findServed, type KubeObject, type Resource } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { jsonEqual } from 'controller-runtime/json';
import type { Runnable } from 'controller-runtime/manager';
import type { Identity, IdentityKind } from '../../api/external/identity.ts';
import {
  CONTROLLER_IDENTITY_KIND,
  IDENTITY_GROUP,
  IDENTITY_PLURALS,
  IDENTITY_VERSION,
  ROLE_IDENTITY_KIND,
  STATIC_IDENTITY_KIND,
  decodeIdentity,
} from '../../api/external/identity.ts';
import type {
  AssumedRoleConfig,
  AwsCredentialSource,
  AwsCredentialSources,
  IdentityRef,
} from '../../pkg/cloud/index.ts';
import { credentialsName } from '../../pkg/cloud/index.ts';
import { GRANT } from '../shared/api-rejections.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { NAMESPACES } from '../shared/live-profiles.ts';
import { identityRefOf } from './identity-chain.ts';
import { Secrets } from './secrets.ts';
import { newCredentialSources } from './credential-sources.ts';

const KINDS = [CONTROLLER_IDENTITY_KIND, STATIC_IDENTITY_KIND, ROLE_IDENTITY_KIND] as const;
const byKind = <A>(make: (kind: IdentityKind) => A): Readonly<Record<IdentityKind, A>> => ({
  [CONTROLLER_IDENTITY_KIND]: make(CONTROLLER_IDENTITY_KIND),
  [STATIC_IDENTITY_KIND]: make(STATIC_IDENTITY_KIND),
  [ROLE_IDENTITY_KIND]: make(ROLE_IDENTITY_KIND),
});

/** Reports whether a change affects the credentials that objects in the namespace get from the identity. */
export type IdentityUsePredicate = (identity: IdentityRef, namespace: string) => boolean;
/** If `namespace` is set, the change affects only objects in this namespace. */
type IdentityChangeHandler = (isAffected: IdentityUsePredicate, namespace?: string) => void;

export interface Identities {
  readonly sources: AwsCredentialSources;
  readonly typed: Readonly<Record<IdentityKind, TypedStore<Identity>>>;
  /** The caches and the polling of Secrets. They must be started before `sources` are used. */
  readonly runnables: readonly Runnable[];
  /**
   * Calls the handler after each change of an identity, its Secret, or a Namespace's labels, but not for objects
   * that were listed before the start. If a cache has no complete list at its start, or loses it because the kind is no
   * longer served, the handler is called once for all identities after the next list.
   */
  onChange(handler: IdentityChangeHandler): void;
}

interface IdentitiesOptions extends Pick<ControllerOptions, 'client' | 'clock' | 'random' | 'logger'> {
  readonly namespace: string;
  readonly resync: Ms;
  readonly own: AwsCredentialSource;
  readonly assuming: AssumedRoleConfig;
}

/** The identities' CRDs can be installed and removed while the manager runs. */
export function newIdentities(options: IdentitiesOptions): Identities {
  const { client, clock, logger, namespace, resync, own, assuming } = options;
  const handlers = new Set<IdentityChangeHandler>();
  const notify: IdentityChangeHandler = (...change) => {
    for (const handler of handlers) handler(...change);
  };
  const identities = byKind((kind) => new Store({ name: `${IDENTITY_PLURALS[kind]}.${IDENTITY_GROUP}`, logger }));
  const typed = byKind((kind) => new TypedStore(identities[kind], decodeIdentity));
  const namespaces = new Store({ name: 'namespaces', logger });
  const secrets = new Secrets({ client, clock, namespace, resync });
  const notifyOfIdentities = (changed: readonly IdentityRef[]): void => {
    const affected = findDependentIdentities(changed, listIdentities(typed[ROLE_IDENTITY_KIND]));
    notify((identity) => affected.has(credentialsName(identity)));
  };
  for (const kind of KINDS) {
    identities[kind].onChange((change) => {
      if (!isRelevantChange(change, ({ metadata, spec }) => [metadata.uid, spec])) return;
      notifyOfIdentities([{ kind, name: change.object.metadata.name }]);
    });
  }
  namespaces.onChange((change) => {
    if (!isRelevantChange(change, ({ metadata }) => metadata.labels)) return;
    const { name } = change.object.metadata;
    notify((_identity, from) => from === name, name);
  });
  secrets.onChange((name) => {
    const users = listIdentities(typed[STATIC_IDENTITY_KIND]).filter(
      (identity) => identity.kind === STATIC_IDENTITY_KIND && identity.spec.secretRef === name,
    );
    notifyOfIdentities(users.map(identityRefOf));
  });
  const findServedKind = (plural: string) => (signal: AbortSignal) =>
    findServed(client, { group: IDENTITY_GROUP, plural, versions: [IDENTITY_VERSION] }, signal);
  const caches = { identitiesOf: (kind: IdentityKind) => typed[kind], namespaces };
  return {
    sources: newCredentialSources({ own, caches, secrets, assuming }),
    typed,
    runnables: [
      ...KINDS.map((kind) => newCache(options, identities[kind], findServedKind(IDENTITY_PLURALS[kind]), notify)),
      newCache(options, namespaces, async () => NAMESPACES, notify),
      secrets,
    ],
    onChange: (handler) => handlers.add(handler),
  };
}

/**
 * The cache counts as started after its first attempt to list its objects, even a failed one, because most
 * AWSFargateProfiles need no identity. A complete list that comes later is a change that affects all identities.
 */
function newCache(
  { client, clock, random, logger }: IdentitiesOptions,
  store: Store,
  resolve: (signal: AbortSignal) => Promise<Resource | undefined>,
  notify: IdentityChangeHandler,
): Runnable {
  const reflector = new Reflector({ client, store, resolve, clock, random, logger, grant: GRANT });
  reflector.started = async (signal) => {
    await reflector.listAttempted(signal);
    store.onSync((synced) => {
      if (synced) notify(() => true);
    });
  };
  return reflector;
}

/**
 * Does not report each object of the first list. If that list completes only after the start, `newCache` reports the
 * whole list as one change that affects all identities.
 */
const isRelevantChange = (change: Change, view: (object: KubeObject) => unknown): boolean =>
  change.type === 'updated'
    ? !jsonEqual(view(change.previous), view(change.object))
    : change.type === 'deleted' || !change.isInInitialList;

function listIdentities(store: TypedStore<Identity>): readonly Identity[] {
  const listing = store.list();
  return listing.kind === 'listed'
    ? listing.entries.flatMap(({ decoded }) => (isRight(decoded) ? [decoded.right] : []))
    : [];
}

/** Returns `changed`, and the identities that use one of them as source, directly or indirectly. */
export function findDependentIdentities(
  changed: readonly IdentityRef[],
  identities: readonly Identity[],
): ReadonlySet<string> {
  const dependents = new Set(changed.map(credentialsName));
  const bySource = Map.groupBy(identities, (identity) =>
    identity.kind === ROLE_IDENTITY_KIND && identity.spec.sourceIdentityRef !== undefined
      ? credentialsName(identity.spec.sourceIdentityRef)
      : undefined,
  );
  // The loop also visits the names that it adds.
  for (const source of dependents)
    for (const user of bySource.get(source) ?? []) dependents.add(credentialsName(identityRefOf(user)));
  return dependents;
}
