import type { Store } from 'controller-runtime/cache';
import { isInvalid, keyText, KubeError, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { fieldsDroppedBy } from '../shared/crd/crd-schema.ts';
import { LEASE_EXPIRED, after, CONFLICT } from '../shared/requeue.ts';
import { listLiveProfiles } from '../shared/live-profiles.ts';
import type { KeeperState, ServedSchema } from '../shared/crd/served-schema.ts';
import { type Decision, type ProbeState, decide, nextProbeState } from './decide.ts';
import { KnownFields } from './lost-fields.ts';
import { type Observation, type Part, foreignParts, observe, restore, writersOf } from './parts.ts';
import { askWebhooks } from './webhook-probe.ts';
import type { KeeperRecord, RecordStore } from './record.ts';
import { replaceDroppedByLost, unlistedFields, withDropped, withRestored } from './record.ts';
import { KeeperEvents, describeStop, lossText } from './events.ts';

/** How long the API server may still serve the old version after a change of the CRD or a webhook configuration. */
const PROPAGATION: Ms = 2_000;
/** The time between two probes while a part is foreign. A stopped keeper reads its ConfigMap at the same interval. */
const WHILE_FOREIGN: Ms = 15_000;
/** How often the keeper reads the API server (three requests) even if no watch reports a change. */
const WHILE_AT_REST: Ms = 5 * 60_000;

interface CrdKeeperOptions extends Pick<ControllerOptions, 'client' | 'leadership' | 'recorder' | 'clock'> {
  readonly profiles: Store;
  readonly records: RecordStore;
  /** If undefined, this manager reconciles the AWSFargateProfiles of all namespaces. */
  readonly watchedNamespace?: string;
  readonly schema: Pick<ServedSchema, 'setKeeper'>;
}

/** Keeps this provider's CRD installed next to CAPA, and keeps CAPA's webhooks for AWSFargateProfiles removed. */
export class CrdKeeper {
  private readonly options: CrdKeeperOptions;
  private readonly events: KeeperEvents;
  private readonly knownFields = new KnownFields();
  private probeState: ProbeState | undefined;
  private state: KeeperState | undefined;
  /** Before this monotonic time, the API server may not serve this controller's last change yet. */
  private propagationEndsAt: Ms = Number.NEGATIVE_INFINITY;
  /**
   * Whether the ConfigMap may contain a restoration that may not have succeeded, or lost fields without the objects
   * that lost them. True after a start, because an earlier process may have written such a record.
   */
  private isRecordOpen = true;

  constructor(options: CrdKeeperOptions) {
    this.options = options;
    this.events = new KeeperEvents(options.recorder);
  }

  readonly reconcile = async (_key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    if (this.options.leadership.remaining() <= 0) return LEASE_EXPIRED;
    try {
      return await this.reconcileOnce(context);
    } catch (error) {
      const rejection = apiRejectionFrom(error);
      if (rejection === undefined) throw error;
      this.events.rejected(rejection, context.logger);
      return after(WHILE_FOREIGN, 'the API server refuses what the keeper needs');
    }
  };

  /** When a foreign CRD appears, the cache may still contain fields that this CRD hides. */
  readonly noteForeignCrd = (): void => this.knownFields.extend(this.cachedProfiles());

  private async reconcileOnce(context: ReconcileContext): Promise<Requeue> {
    const { client, clock, records } = this.options;
    const { signal } = context;
    // A watch may report a change before the API server serves the changed CRD.
    const propagationTimeLeft = this.propagationEndsAt - clock.monotonic();
    if (propagationTimeLeft > 0) return after(propagationTimeLeft, 'the API server takes a moment to serve the change');
    const observation = await observe(client, signal);
    if (foreignParts(observation).length === 0) return this.rest(observation, context);
    const [profile] = this.cachedProfiles();
    const target = { profile, namespace: records.key.namespace };
    const answer = await askWebhooks(client, observation.entries, target, signal);
    this.probeState = nextProbeState(this.probeState, answer, clock.monotonic());
    const record = await this.readRecord(observation, signal);
    if (record === undefined) return this.wait({ because: `ConfigMap ${keyText(records.key)} is unreadable` }, context);
    const { probeState } = this;
    const decision = decide({ observation, probeState, record, elapsed: clock.monotonic(), now: clock.now() });
    return this.carryOut(decision, observation, record, context);
  }

  /** Reads the record, and marks the restorations that have succeeded. `undefined` if the record is unreadable. */
  private async readRecord({ inOrder }: Observation, signal: AbortSignal): Promise<KeeperRecord | undefined> {
    const { records } = this.options;
    const read = await records.read(signal);
    const record = read && withRestored(read, (part) => inOrder.some((each) => each === part));
    if (record !== undefined && record !== read) await records.write(record, signal);
    return record;
  }

  private async carryOut(
    decision: Decision,
    observation: Observation,
    record: KeeperRecord,
    context: ReconcileContext,
  ): Promise<Requeue> {
    switch (decision.kind) {
      case 'leaveToCapa':
        return this.leaveToCapa(decision.webhook, observation, context);
      case 'wait':
        // A stopped keeper stays `stopped` while it waits. But while CAPA restarts, the state `capaServes` is kept,
        // because only this state prevents the manager from changing AWS.
        if (record.stopped === undefined || this.state?.kind === 'capaServes') return this.wait(decision, context);
        await this.stop(decision.parts, observation, record, context);
        return after(decision.after ?? WHILE_FOREIGN, decision.because);
      case 'stop':
        return this.stop(decision.parts, observation, record, context);
      case 'restore':
        return this.restore(decision, observation, record, context);
    }
  }

  /** Finds and reports, once after each restoration of the CRD, the objects that lost fields. */
  private async rest(observation: Observation, { signal, logger }: ReconcileContext): Promise<Requeue> {
    const { client, records, watchedNamespace } = this.options;
    this.probeState = undefined;
    this.events.rests();
    this.setState(undefined);
    if (this.isRecordOpen) {
      const record = await this.readRecord(observation, signal);
      const dropped = record && unlistedFields(record);
      if (record !== undefined && dropped !== undefined) {
        const scope = watchedNamespace === undefined ? {} : { namespace: watchedNamespace };
        const objects: KubeObject[] = [];
        for await (const object of listLiveProfiles(client, scope, signal)) objects.push(object);
        const losses = this.knownFields.lossesOf(objects, dropped);
        await records.write(replaceDroppedByLost(record, losses.map(lossText)), signal);
        this.events.fieldsLost(losses, logger);
      }
      this.isRecordOpen = false;
    }
    this.knownFields.replace(this.cachedProfiles());
    return after(WHILE_AT_REST, 'the CRD is ours');
  }

  private leaveToCapa(webhook: string, observation: Observation, { logger }: ReconcileContext): Requeue {
    this.setState({ kind: 'capaServes', webhook, isForeign: observation.schema === 'foreign' });
    this.events.leftToCapa(observation, webhook, logger);
    return after(WHILE_FOREIGN, 'Cluster API Provider AWS serves AWSFargateProfiles');
  }

  private wait(
    { because, after: delay }: { readonly because: string; readonly after?: Ms },
    context: ReconcileContext,
  ) {
    // A CAPA manager that has served AWSFargateProfiles serves them again after a restart.
    if (this.state?.kind !== 'capaServes') this.setState({ kind: 'restoring' });
    this.events.waits(because, context.logger);
    return after(delay ?? WHILE_FOREIGN, because);
  }

  private async stop(
    parts: readonly Part[],
    observation: Observation,
    record: KeeperRecord,
    { logger, signal }: ReconcileContext,
  ): Promise<Requeue> {
    const { clock, records } = this.options;
    const stop = record.stopped ?? { at: clock.now(), writers: writersOf(observation, parts) };
    if (record.stopped === undefined) await records.write({ ...record, stopped: stop }, signal);
    // `parts` are foreign now; `stop.writers` are the clients that had replaced something when the keeper stopped.
    const description = describeStop(parts, stop.writers, records.key);
    this.setState({ kind: 'stopped', ...description });
    this.events.stopped(observation, description, stop.writers, logger);
    return after(WHILE_FOREIGN, 'the CRD keeper has stopped');
  }

  private async restore(
    { parts, record: next }: Extract<Decision, { kind: 'restore' }>,
    observation: Observation,
    record: KeeperRecord,
    { logger, signal }: ReconcileContext,
  ): Promise<Requeue> {
    const { client, records, leadership, clock } = this.options;
    this.setState({ kind: 'restoring' });
    if (leadership.remaining() <= 0) return LEASE_EXPIRED;
    const { crd } = observation;
    const noted = crd !== undefined && parts.includes('crd') ? withDropped(next, fieldsDroppedBy(crd)) : next;
    this.isRecordOpen = true;
    const writers = writersOf(observation, parts);
    // The restoration is recorded before it begins, so that the record contains it even after a crash.
    await records.write(noted, signal);
    const restored: string[] = [];
    const withAllRestored = (): KeeperRecord => withRestored(noted, (part) => restored.includes(part));
    try {
      for (const part of parts) {
        await restore(client, observation, part, signal);
        restored.push(part);
      }
    } catch (error) {
      // Only a refusal shows that the restoration has failed. After any other error, the next reconcile finds out.
      if (isRefused(error)) await records.write(restored.length === 0 ? record : withAllRestored(), signal);
      // Another client has changed the list of webhooks since this reconcile read it.
      if (isInvalid(error) && !parts.includes('crd')) return CONFLICT;
      throw error;
    }
    this.events.restored(observation, parts, writers, logger);
    this.propagationEndsAt = clock.monotonic() + PROPAGATION;
    await records.write(withAllRestored(), signal);
    return after(PROPAGATION, 'the API server takes a moment to serve the change');
  }

  private setState(state: KeeperState | undefined): void {
    this.state = state;
    this.options.schema.setKeeper(state);
  }

  private cachedProfiles(): readonly KubeObject[] {
    const listing = this.options.profiles.list();
    return listing.kind === 'listed' ? listing.objects : [];
  }
}

const isRefused = (error: unknown): boolean => error instanceof KubeError && error.status >= 400 && error.status < 500;
