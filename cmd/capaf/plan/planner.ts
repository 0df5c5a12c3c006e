import { isRight } from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import * as TE from 'fp-ts/lib/TaskEither.js';
import * as external from '../../../api/external/index.ts';
import { textAt } from '../../../api/record.ts';
import type { AWSFargateProfile, Condition } from '../../../api/v1beta2/index.ts';
import { newReconcile } from '../../../controllers/awsfargateprofile/controller.ts';
import { Lanes } from '../../../controllers/awsfargateprofile/lane.ts';
import { locationOf } from '../../../controllers/awsfargateprofile/model/location.ts';
import { RetryStore } from '../../../controllers/awsfargateprofile/retry/retry-store.ts';
import { type Caches, listSiblings, newCaches } from '../../../controllers/shared/caches.ts';
import { ControlPlaneAccounts } from '../../../controllers/shared/control-plane/control-plane-accounts.ts';
import { controlPlaneReference } from '../../../controllers/shared/control-plane/joined-control-plane.ts';
import { ControlPlaneFinalizer } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { ServedSchema } from '../../../controllers/shared/crd/served-schema.ts';
import { PROFILES } from '../../../controllers/shared/live-profiles.ts';
import { ProfileWriter } from '../../../controllers/shared/profile-writer.ts';
import {
  CallerAccounts,
  CredentialPool,
  type Sessions,
  awsMetrics,
  newLimiter,
  newSessions,
} from '../../../pkg/cloud/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import { systemRandom } from '../../../pkg/env/system.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import type { OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../../pkg/kube/types.ts';
import { LockQueue } from '../../../pkg/runtime/queue/lock-queue.ts';
import type { Reconcile } from '../../../pkg/runtime/reconcile.ts';
import { VERSION } from '../../../pkg/version.ts';
import { type AwsAccess, SILENT } from '../aws.ts';
import { type PlannedChange, PlannedAws } from './planned-aws.ts';
import { PlannedCluster } from './planned-cluster.ts';

export interface PlannedObject {
  readonly namespace: string;
  readonly name: string;
  readonly changes: readonly TimedChange[];
  /** The condition Ready once the controller has to wait for the first time, or has nothing more to do. */
  readonly then: Outcome;
  /** The condition Ready after all changes. */
  readonly end: Outcome;
  /** The message of the condition SelectorsOverlap, if it is True. */
  readonly overlaps: string | undefined;
}

export interface TimedChange extends PlannedChange {
  /** What happens before the change; `undefined`: the controller makes it at once. */
  readonly after?: string;
}

export interface Outcome {
  readonly ready: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

export interface PlannerOptions {
  readonly client: KubeClient;
  readonly sessions: (clock: Clock) => Sessions;
  readonly limits: OperatorLimits;
  readonly managerRegion: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** An object may need as many passes until it waits: an adoption reads AWS again after each tag. */
const MOST_PASSES = 10;
/** The changes of ten profiles, one after the other, with those of their predecessors. */
const MOST_ROUNDS = 60;
const RESYNC: Ms = 10 * 60_000;

/**
 * Runs the product's own reconciler on a copy of the world: it reads the API server and AWS, and what it writes stays in
 * memory. When each object waits, EKS finishes its changes in the copy, and the passes go on, until nothing changes.
 */
export class Planner {
  /** The plan puts it forward instead of waiting. Deadlines of requests count real time. */
  private readonly clock: Clock;
  private skipped: Ms = 0;
  private readonly cluster: PlannedCluster;
  private readonly aws: PlannedAws;
  private readonly caches: Caches;
  private readonly reconcile: Reconcile;
  private readonly signal: AbortSignal;
  private readonly changes = new Map<string, TimedChange[]>();
  private current = '';
  private stage: string | undefined;

  constructor({ client, sessions, limits, managerRegion, clock, signal }: PlannerOptions) {
    this.signal = signal;
    this.clock = {
      now: () => clock.now() + this.skipped,
      monotonic: () => clock.monotonic() + this.skipped,
      after: (delay, fire) => clock.after(delay, fire),
    };
    this.cluster = new PlannedCluster(client);
    this.aws = new PlannedAws(sessions(this.clock), this.clock, (change) => this.record(change));
    const env = { client: this.cluster, clock: this.clock, random: systemRandom, logger: SILENT };
    this.caches = newCaches(env);
    const { profiles, typed, controlPlanes, controlPlaneResource: resource } = this.caches;
    const retryStore = new RetryStore(this.clock);
    this.reconcile = newReconcile({
      ...env,
      caches: this.caches,
      controlPlaneFinalizer: new ControlPlaneFinalizer({ client: this.cluster, controlPlanes, resource }),
      schema: new ServedSchema({ ...env, metrics: { foreign: () => {} } }),
      sessions: this.aws,
      limits,
      managerRegion,
      accounts: new ControlPlaneAccounts(this.aws),
      leadership: { remaining: () => Number.POSITIVE_INFINITY },
      resync: RESYNC,
      profileWriter: new ProfileWriter({
        ...env,
        store: profiles,
        profiles: typed.profiles,
        onForeignChange: () => {},
      }),
      lanes: new Lanes({
        clock: this.clock,
        profiles: typed.profiles,
        isStoppedOtherwise: (object) => retryStore.isStoppedOtherwise(object),
        wake: () => {},
      }),
      recordTurnWait: () => {},
      roleLocks: new LockQueue(() => {}),
      retryStore,
      recordEvent: () => {},
    });
  }

  /** Lists the objects of the API server. */
  async start(): Promise<void> {
    await Promise.all(
      this.caches.runnables.map(async (each) => {
        void each.run(this.signal);
        await each.started?.(this.signal);
      }),
    );
  }

  /** Shows the object as if it had been applied. */
  apply(object: KubeObject): void {
    this.caches.profiles.upsert(this.cluster.put(PROFILES, object));
  }

  /** The object as it is now, or will be; `undefined` if there is none or it cannot be read. */
  find(key: ObjectKey): AWSFargateProfile | undefined {
    const lookup = this.caches.typed.profiles.lookup(key);
    return lookup.kind === 'found' && isRight(lookup.decoded) ? lookup.decoded.right : undefined;
  }

  listKeys(namespace: string | undefined): readonly ObjectKey[] {
    const listing = this.caches.profiles.list();
    return listing.kind !== 'listed'
      ? []
      : listing.objects.map(keyOf).filter((key) => namespace === undefined || key.namespace === namespace);
  }

  /** `account` is that of the credentials. Objects of another account keep what is known of them: their plan is unknown. */
  async plan(asked: readonly ObjectKey[], account: string): Promise<readonly PlannedObject[]> {
    const elsewhere = new Map<string, string>();
    for (const key of asked) {
      const other = await this.accountOf(key);
      if (other !== undefined && other !== account) elsewhere.set(keyText(key), other);
    }
    const keys = asked.filter((key) => !elsewhere.has(keyText(key)));
    const all = new Map(keys.map((key) => [keyText(key), key]));
    let delay = await this.passOver(all);
    const then = new Map(keys.map((key) => [keyText(key), this.outcomeOf(key)]));
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const known = all.size;
      // A profile of another object that EKS is changing comes to its end only if passes of that object see it.
      for (const key of keys)
        if (this.outcomeOf(key).reason === 'WaitingForSibling')
          for (const sibling of this.siblingsOf(key)) all.set(keyText(keyOf(sibling)), keyOf(sibling));
      const finished = this.aws.finishChanges();
      if (finished.length > 0) this.stage = finished.join(', and ');
      else if (delay !== undefined) {
        this.skipped += delay;
        this.stage = 'keepPredecessorFor is over';
      } else if (all.size === known) break;
      delay = await this.passOver(all);
    }
    return asked.map((key) => {
      const [other, overlaps] = [elsewhere.get(keyText(key)), this.overlapsOf(key)];
      if (other === undefined) {
        const [changes = [], end] = [this.changes.get(keyText(key)), this.outcomeOf(key)];
        return { ...key, changes, then: then.get(keyText(key)) ?? end, end, overlaps };
      }
      const message = `the object is of AWS account ${other}, and the credentials are of ${account}, so nothing is known. Use --profile or --role-arn with credentials of account ${other}.`;
      const outcome = { ready: 'Unknown', reason: 'WrongAccount', message } as const;
      return { ...key, changes: [], then: outcome, end: outcome, overlaps };
    });
  }

  /**
   * The account that the object records; else that of another object of its cluster, or of the role that its identity
   * assumes. `undefined`: nothing tells.
   */
  private async accountOf(key: ObjectKey): Promise<string | undefined> {
    const object = this.find(key);
    if (object === undefined) return undefined;
    for (const each of [object, ...this.siblingsOf(key)]) {
      const location = locationOf(each);
      if (location.kind === 'known') return location.account;
    }
    const ref = this.identityOf(object);
    if (ref?.kind !== external.ROLE_IDENTITY_KIND) return undefined;
    const { IDENTITY_GROUP: group, IDENTITY_VERSION: version, IDENTITY_PLURALS: plurals } = external;
    const resource = { group, version, plural: plurals[ref.kind] };
    const identity = await this.cluster.get(resource, { namespace: '', name: ref.name }, { signal: this.signal });
    const arn = textAt(identity?.['spec'], 'roleARN');
    return arn === undefined ? undefined : parseRoleArn(arn)?.account;
  }

  private identityOf({ metadata: { namespace }, spec }: AWSFargateProfile): external.IdentityReference | undefined {
    if (spec.eksCluster !== undefined) return spec.eksCluster.identityRef;
    const { clusters, controlPlanes } = this.caches.typed;
    const cluster = clusters.lookup({ namespace, name: spec.clusterName ?? '' });
    const reference =
      cluster.kind === 'found' && isRight(cluster.decoded) ? controlPlaneReference(cluster.decoded.right) : undefined;
    const controlPlane = reference && controlPlanes.lookup(reference);
    return controlPlane?.kind === 'found' && isRight(controlPlane.decoded)
      ? controlPlane.decoded.right.identityRef
      : undefined;
  }

  /** Returns the shortest time after which an object goes on without anything that happens in AWS. */
  private async passOver(keys: ReadonlyMap<string, ObjectKey>): Promise<Ms | undefined> {
    let shortest: Ms | undefined;
    for (const [text, key] of keys) {
      this.current = text;
      for (let pass = 0; pass < MOST_PASSES; pass++) {
        const before = this.changes.get(text)?.length ?? 0;
        const next = await this.reconcile(key, { logger: SILENT, signal: this.signal });
        const isChanged = (this.changes.get(text)?.length ?? 0) > before;
        if (next.kind === 'after' && next.reason === 'PredecessorKept')
          shortest = Math.min(shortest ?? next.delay, next.delay);
        if (!isChanged && (next.kind === 'after' || next.kind === 'done' || pass > 0)) break;
      }
    }
    return shortest;
  }

  private record(change: PlannedChange): void {
    const changes = this.changes.get(this.current) ?? [];
    this.changes.set(this.current, [...changes, { ...change, ...(this.stage !== undefined && { after: this.stage }) }]);
  }

  private siblingsOf(key: ObjectKey): readonly AWSFargateProfile[] {
    const object = this.find(key);
    return object === undefined ? [] : listSiblings(object, this.caches.typed.profiles);
  }

  private outcomeOf(key: ObjectKey): Outcome {
    const object = this.find(key);
    if (object === undefined)
      return { ready: 'Unknown', reason: 'NotFound', message: `there is no AWSFargateProfile ${keyText(key)}` };
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0)
      return { ready: 'False', reason: 'Deleted', message: 'the object, its Fargate profile and its role are gone' };
    const { conditions = [] } = object.status ?? {};
    const paused = conditions.find(({ type, status }) => type === 'Paused' && status === 'True');
    const shown = paused ?? conditions.find(({ type }) => type === 'Ready');
    const { reason = 'Unknown', message = '' } = shown ?? {};
    return { ready: paused === undefined ? (shown?.status ?? 'Unknown') : 'Unknown', reason, message };
  }

  private overlapsOf(key: ObjectKey): string | undefined {
    const conditions = this.find(key)?.status?.conditions ?? [];
    return conditions.find(({ type, status }) => type === 'SelectorsOverlap' && status === 'True')?.message;
  }
}

/** Sessions with the credentials of the caller, whatever identity an object names. */
export const callerSessions =
  (aws: Pick<AwsAccess, 'transport' | 'endpoints' | 'credentials' | 'region'>, signal: AbortSignal) =>
  (clock: Clock): Sessions => {
    const shared = {
      ...aws,
      clock,
      logger: SILENT,
      limiter: newLimiter(clock),
      metrics: awsMetrics(new Registry()),
      pool: new CredentialPool(clock, signal, RESYNC),
      version: VERSION,
    };
    const sources = { find: () => TE.right(aws.credentials) };
    return newSessions({
      ...shared,
      random: systemRandom,
      sources,
      accounts: new CallerAccounts({ ...shared, signal }),
    });
  };
