import * as E from 'fp-ts/lib/Either.js';
import {
  keyOf,
  keyText,
  type KubeClient,
  type KubeObject,
  type ObjectKey,
  parseKeyText,
} from 'controller-runtime/client';
import type { Reconcile } from 'controller-runtime/controller';
import { type Clock, formatAge, type Ms, systemRandom } from 'controller-runtime/env';
import type { AWSFargateProfile, Condition } from '../../../api/v1beta2/index.ts';
import { newReconcile, newReconcilerParts } from '../../../controllers/awsfargateprofile/controller.ts';
import type { OpenPods } from '../../../controllers/awsfargateprofile/drain/open-pods.ts';
import { locationOf } from '../../../controllers/shared/record.ts';
import { type Caches, listSiblings, newCaches } from '../../../controllers/shared/caches.ts';
import { ControlPlaneAccounts } from '../../../controllers/shared/control-plane/control-plane-accounts.ts';
import { ControlPlaneFinalizer } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { rolePathOf, usedRoleNamesOf } from '../../../controllers/shared/profile-names.ts';
import { ServedSchema } from '../../../controllers/shared/crd/served-schema.ts';
import { PROFILES } from '../../../controllers/shared/live-profiles.ts';
import type { Sessions } from '../../../pkg/cloud/index.ts';
import type { OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import { SILENT } from '../aws.ts';
import { endPauses } from './pause.ts';
import { type PlannedChange, plannedAws } from './planned-aws.ts';
import { plannedCluster } from './planned-cluster.ts';

export interface PlannedObject {
  readonly namespace: string;
  readonly name: string;
  /** The spec contains either `clusterName`, the name of a Cluster, or `eksCluster`. */
  readonly clusterName: string | undefined;
  readonly eksCluster: string | undefined;
  /** The region of `eksCluster`: that in the spec or, if the spec does not set one, the manager's. */
  readonly region: string | undefined;
  /** What pauses the object now. The plan assumes that the pause has ended. */
  readonly pausedBy: readonly string[];
  readonly changes: readonly TimedChange[];
  /** The condition Ready when the controller first has to wait, or has nothing more to do. */
  readonly then: Outcome;
  /** The condition Ready after all changes. */
  readonly end: Outcome;
  /** The message of the condition SelectorsOverlap, if it is True. */
  readonly overlaps: string | undefined;
}

export interface TimedChange extends PlannedChange {
  /** What the change waits for. If `undefined`, the controller makes it immediately. */
  readonly after?: string;
}

export interface Outcome {
  readonly ready: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

interface PlannerOptions {
  readonly client: KubeClient;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  readonly managerRegion: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The most reconciles of an object in one round. An adoption needs several: it reads AWS again after each tag. */
const MOST_ROUNDS = 10;
/**
 * Limits the plan's rounds. In a round, EKS finishes the changes in progress, or time passes. An object may need
 * several rounds, because EKS changes one profile of a cluster at a time, and the object may have old profiles.
 */
const ROUNDS_PER_OBJECT = 6;
const LEAST_ROUNDS = 60;
const RESYNC: Ms = 10 * 60_000;

/**
 * Runs the real reconciler against simulations of the API server and AWS, which read the real ones and keep writes in
 * memory. When every object waits, the simulated EKS finishes its changes, and the reconciles continue until nothing
 * changes.
 */
export async function startPlanner(options: PlannerOptions) {
  const { client, sessions, clock: real, signal } = options;
  let skipped: Ms = 0;
  /** The plan advances this clock instead of waiting. Deadlines of requests use real time. */
  const clock: Clock = {
    now: () => real.now() + skipped,
    monotonic: () => real.monotonic() + skipped,
    after: (delay, fire) => real.after(delay, fire),
  };
  let current = '';
  let stage: string | undefined;
  const changes: (readonly [of: string, change: TimedChange])[] = [];
  const onChange = (change: PlannedChange): void => {
    changes.push([current, { ...change, ...(stage !== undefined && { after: stage }) }]);
  };
  /** The planned objects, and other objects of the same cluster for which they wait. */
  const all = new Map<string, ObjectKey>();
  /** The roles of the other planned objects in the current object's cluster. */
  const rolesAhead = () => {
    const object = find(parseKeyText(current));
    const siblings = object === undefined ? [] : listSiblings(object, caches.typed.profiles);
    return siblings.flatMap((sibling) => {
      const names = all.has(keyText(keyOf(sibling))) ? usedRoleNamesOf(sibling) : [];
      return names.map((name) => ({ name, path: rolePathOf(sibling) }));
    });
  };
  const aws = plannedAws(sessions, clock, onChange, rolesAhead);
  const cluster = plannedCluster(client);
  const caches = newCaches({ client: cluster, clock, random: systemRandom, logger: SILENT });
  const drained = new Set<string>();
  /** Simulates a drain in which all pods move immediately. */
  const openPods: OpenPods = async (_session, { eksCluster }, { predecessor, since, until, obstacle }) => {
    const id = `${eksCluster} ${predecessor}`;
    if (obstacle === undefined && !drained.has(id)) {
      const fields = [{ name: 'drainTimeout', after: formatAge(until - since) }];
      onChange({ operation: 'EvictPods', resource: `Fargate profile "${predecessor}"`, fields });
    }
    drained.add(id);
    return E.right(undefined);
  };
  /** Objects that need no reconcile while others change, because they are Ready or wait for another object. */
  const resting = new Set<string>();
  /** The objects that, in their last reconcile, had to wait until EKS has changed another object's profile. */
  const waiting = new Set<string>();
  let isWoken = false;
  /** Called when an object has waited for others, and EKS may accept its change next. */
  const wake = (key: ObjectKey): void => {
    if (resting.delete(keyText(key))) isWoken = true;
  };
  const reconcile = reconcileOn(caches, { ...options, client: cluster, sessions: aws, clock, openPods }, wake);
  await Promise.all(
    caches.runnables.map(async (each) => {
      void each.run(signal);
      await each.started?.(signal);
    }),
  );

  /** Returns the object with the planned changes. `undefined` if it does not exist or cannot be decoded. */
  function find(key: ObjectKey): AWSFargateProfile | undefined {
    const lookup = caches.typed.profiles.lookup(key);
    return lookup.kind === 'found' && E.isRight(lookup.decoded) ? lookup.decoded.right : undefined;
  }

  /** Returns `undefined` if the object has no recorded AWS account yet. */
  function accountOf(key: ObjectKey): string | undefined {
    const object = find(key);
    const location = object && locationOf(object);
    return location?.kind === 'known' ? location.account : undefined;
  }

  /**
   * Reconciles each object until it has to wait. Returns the shortest time after which an object continues even if
   * nothing happens in AWS.
   */
  async function reconcileOver(): Promise<Ms | undefined> {
    let shortest: Ms | undefined;
    for (const [text, key] of all) {
      if (resting.has(text)) continue;
      current = text;
      let isKeeping = false;
      let isWaiting = false;
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const before = changes.length;
        const next = await reconcile(key, { logger: SILENT, signal });
        const isChanged = changes.length > before;
        isKeeping = next.kind === 'after' && next.reason === 'PredecessorKept';
        isWaiting = next.kind === 'after' && next.reason === 'WaitingForSibling';
        if (next.kind === 'after' && isKeeping) shortest = Math.min(shortest ?? next.delay, next.delay);
        if (!isChanged && (next.kind === 'after' || next.kind === 'done' || round > 0)) break;
      }
      if (isWaiting) waiting.add(text);
      else waiting.delete(text);
      if (isWaiting || (!isKeeping && outcomeOf(find(key)).ready === 'True')) resting.add(text);
    }
    return shortest;
  }

  /** Adds the objects for which others wait. Returns whether there are any new ones. */
  function addSiblings(): boolean {
    const known = all.size;
    // EKS's change of another object's profile ends in the plan only if that object is reconciled too.
    for (const object of [...waiting].flatMap((text) => find(parseKeyText(text)) ?? []))
      for (const sibling of listSiblings(object, caches.typed.profiles))
        all.set(keyText(keyOf(sibling)), keyOf(sibling));
    return all.size > known;
  }

  return {
    live(key: ObjectKey): KubeObject | undefined {
      const lookup = caches.profiles.lookup(key);
      return lookup.kind === 'found' ? lookup.object : undefined;
    },

    apply: (object: KubeObject) => caches.profiles.upsert(cluster.put(PROFILES, object)),

    /** Does nothing if the object does not exist. */
    async remove(key: ObjectKey): Promise<void> {
      const object = await cluster.delete(PROFILES, key, { uid: '', signal });
      if (object !== undefined) caches.profiles.upsert(object);
    },

    /** `account` is the account of the credentials. Objects of other accounts are not planned. */
    async plan(asked: readonly ObjectKey[], account: string): Promise<readonly PlannedObject[]> {
      const isKnown = (key: ObjectKey): boolean => (accountOf(key) ?? account) === account;
      const keys = asked.filter(isKnown);
      const pausedBy = endPauses(keys, caches, cluster);
      for (const key of keys) all.set(keyText(key), key);
      let delay = await reconcileOver();
      const then = new Map(keys.map((key) => [keyText(key), outcomeOf(find(key))]));
      let isOfAll = true;
      for (let round = 0; round < Math.max(LEAST_ROUNDS, ROUNDS_PER_OBJECT * all.size); round++) {
        const finished = isWoken ? [] : aws.finishChanges();
        if (finished.length > 0) stage = finished.join(', and ');
        else if (isWoken) isWoken = false;
        else if (delay !== undefined) {
          skipped += delay;
          stage = 'keepPredecessorFor, at least 30 seconds, is over';
        } else if (!addSiblings()) {
          if (isOfAll) break;
          // Reconciles the resting objects again, because the other objects' changes may affect them.
          resting.clear();
        }
        isOfAll = resting.size === 0;
        delay = await reconcileOver();
      }
      return asked.map((key) => {
        const object = find(key);
        const end = isKnown(key) ? outcomeOf(object) : ofAccount(accountOf(key), account);
        const text = keyText(key);
        return {
          ...key,
          clusterName: object?.spec.clusterName,
          eksCluster: object?.spec.eksCluster?.name,
          region: object?.spec.eksCluster && (object.spec.eksCluster.region ?? options.managerRegion),
          pausedBy: pausedBy.get(text) ?? [],
          changes: changes.flatMap(([of, change]) => (of === text ? [change] : [])),
          then: then.get(text) ?? end,
          end,
          overlaps: overlapsOf(object),
        };
      });
    },
  };
}

/** The manager's reconciler, without its queue, events, and metrics. */
function reconcileOn(
  caches: Caches,
  { client, clock, ...options }: Omit<PlannerOptions, 'signal'> & { readonly openPods: OpenPods },
  wake: (key: ObjectKey) => void,
): Reconcile {
  const { controlPlanes, controlPlaneResource: resource } = caches;
  const env = { client, clock, random: systemRandom, logger: SILENT };
  return newReconcile({
    ...env,
    ...options,
    caches,
    controlPlaneFinalizer: new ControlPlaneFinalizer({ client, controlPlanes, resource }),
    schema: new ServedSchema({ ...env, metrics: { foreign: () => {} } }),
    accounts: new ControlPlaneAccounts(options.sessions),
    leadership: { remaining: () => Number.POSITIVE_INFINITY },
    resync: RESYNC,
    ...newReconcilerParts({ client, caches, clock, limits: options.limits }, { add: wake }),
    recordTurnSpan: () => {},
    recordEviction: () => {},
    recordEvent: () => {},
  });
}

const ofAccount = (account: string | undefined, own: string): Outcome => ({
  ready: 'Unknown',
  reason: 'WrongAccount',
  message: `the object is of AWS account ${account}, and the credentials are of ${own}, so nothing is known. Use --profile or --role-arn with credentials of account ${account}.`,
});

function outcomeOf(object: AWSFargateProfile | undefined): Outcome {
  if (object === undefined) return { ready: 'Unknown', reason: 'NotFound', message: 'the object does not exist' };
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined && finalizers.length === 0)
    return {
      ready: 'False',
      reason: 'Deleted',
      message: 'the object is deleted; these changes are the only deletions in AWS',
    };
  const { conditions = [] } = object.status ?? {};
  const paused = conditions.find(({ type, status }) => type === 'Paused' && status === 'True');
  const shown = paused ?? conditions.find(({ type }) => type === 'Ready');
  const { reason = 'Unknown', message = '' } = shown ?? {};
  return { ready: paused === undefined ? (shown?.status ?? 'Unknown') : 'Unknown', reason, message };
}

const overlapsOf = (object: AWSFargateProfile | undefined): string | undefined =>
  object?.status?.conditions?.find(({ type, status }) => type === 'SelectorsOverlap' && status === 'True')?.message;
