import type { Ms } from 'controller-runtime/env';
import { fieldAt } from 'controller-runtime/json';
import { json, type StoredEvent } from 'controller-runtime/testing';
import { PLURAL, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import type { FaultKind } from '../../aws/faults.ts';
import type { ConfigPatch } from '../../aws/model/config.ts';
import { MINUTE, SECOND } from './cluster.ts';
import type { SimulatedManager } from './simulated-manager.ts';
import { SimulatedWorld } from './simulated-world.ts';
import { StatusWatch } from './status-watch.ts';
import type { KubeWrite } from './trace.ts';

/**
 * One disturbance of the manager, as in Sieve (OSDI 2022):
 * - `crash`: right after the n-th effective write of the managers to AWS or the API server, the manager crashes, and a
 *   new manager starts.
 * - `lag`: right after the n-th event, the manager crashes. The new manager gets lists that are `behind` events old,
 *   and its watches are {@link LATE} ms late.
 * - `unseen`: the watches omit the n-th event. If the object changes within {@link LATE} ms, they send that change
 *   instead. Otherwise they send the omitted event late.
 * - `fault`: the n-th AWS call fails.
 *
 * `n` counts writes, events or calls from 1. An event is a change of an object of a kind in {@link WATCHED} by any
 * client.
 */
export type Perturbation =
  | { readonly kind: 'crash' | 'unseen'; readonly nth: number }
  | { readonly kind: 'lag'; readonly nth: number; readonly behind: number }
  | { readonly kind: 'fault'; readonly nth: number; readonly fault: FaultKind };

/** How long the API server shows an old state. */
const LATE: Ms = 10 * SECOND;
const WATCHED = ['clusters', 'awsmanagedcontrolplanes', PLURAL];

/**
 * The faults: a 500 before or after the execution of the call, no answer after the execution, and a throttling error.
 * The manager treats a reset connection and the page of a load balancer like a 500, as AWS being unavailable
 * (isUnavailable in pkg/cloud/errors/error-codes.ts).
 */
const FAULTS: readonly FaultKind[] = ['500-before', '500-after', 'no-answer-after', 'throttle'];

/** All durations are fixed, so that a perturbation does not change those of later calls. */
const AWS: ConfigPatch = { eks: { createMs: 1.5 * SECOND, deleteMs: SECOND }, latencyMs: 200 };

/** The result of a history. All runs of a history must have the same result, with any perturbations. */
export interface Outcome {
  /** The API objects and AWS at each moment of rest, without ids and times. */
  readonly states: readonly unknown[];
  /** How often each resource was created and deleted in AWS. */
  readonly changes: Readonly<Record<string, number>>;
}

/** A simulation that perturbs its manager at chosen moments. */
export class PerturbedWorld extends SimulatedWorld {
  /** The effective writes of the managers so far, for messages. */
  readonly effects: string[] = [];
  readonly events: StoredEvent[] = [];
  readonly statuses: StatusWatch;
  private readonly states: unknown[] = [];
  private changes: Readonly<Record<string, number>> = {};
  /** How long the history took; 0 until its end. */
  duration: Ms = 0;
  private readonly perturbations: readonly Perturbation[];
  private readonly firstVersion: number;
  /** How many writes, events and AWS calls there were before the part of the history that is perturbed. */
  private begun = { effects: 0, events: 0, calls: 0 };
  /** The AWS calls of the history; empty until its end. */
  private calls: readonly CallRecord[] = [];
  /** The omitted events, by object. A newer event of the same object removes an omitted event. */
  private readonly unseen = new Map<string, StoredEvent>();
  private isOver = false;
  /** The flags with which a new manager starts after a crash. */
  private flags: readonly string[] = [];

  constructor(perturbations: readonly Perturbation[] = []) {
    super({ aws: AWS });
    this.perturbations = perturbations;
    this.firstVersion = this.api.storage.newest;
    for (const one of perturbations)
      if (one.kind === 'fault') this.aws.admin.addFault({ operation: '*', kind: one.fault, nth: one.nth });
    this.statuses = new StatusWatch(this);
    this.onChange = (change) => this.afterWrite(change);
    const { notify } = this.api;
    this.api.notify = (event) => this.onEvent(event, notify);
  }

  get sawOldLists(): boolean {
    return this.perturbations.some(({ kind }) => kind === 'lag');
  }

  private due(kind: Perturbation['kind'], count: number): Perturbation | undefined {
    return this.perturbations.find((one) => !this.isOver && one.kind === kind && one.nth === count);
  }

  private afterWrite(change: CallRecord | KubeWrite): void {
    const isEvent = 'path' in change && /\/events(\/|$)/.test(change.path);
    const isRefused = 'path' in change && (change.status ?? 0) >= 300;
    if (this.isOver || isEvent || isRefused) return;
    this.effects.push('path' in change ? `${change.method} ${change.path}` : change.operation);
    if (this.due('crash', this.effects.length) !== undefined) this.restart();
  }

  private onEvent(event: StoredEvent, notify: (event: StoredEvent) => void): void {
    if (this.isOver || !WATCHED.includes(event.kind.plural)) return notify(event);
    this.events.push(event);
    const { length } = this.events;
    this.unseen.delete(idOf(event));
    if (this.due('unseen', length) === undefined) notify(event);
    else {
      this.unseen.set(idOf(event), event);
      this.clock.after(LATE, () => {
        if (this.unseen.get(idOf(event)) === event) notify(event);
      });
    }
    const lag = this.due('lag', length);
    if (lag?.kind === 'lag') this.restart(this.events.at(-1 - lag.behind)?.version ?? this.firstVersion);
  }

  /** Restarts the manager after a crash. With `version`, lists show the API server's state at this resourceVersion. */
  private restart(version?: number): void {
    this.managers.at(-1)?.kill();
    if (version !== undefined) this.showPast(version);
    super.start(...this.flags);
  }

  override start(...flags: readonly string[]): SimulatedManager {
    this.flags = flags;
    return super.start(...flags);
  }

  /** Answers the next list of each kind with its state at `version`, and delays all watch events for a while. */
  private showPast(version: number): void {
    const { api, clock } = this;
    const { watchLag } = api;
    if (watchLag < LATE) clock.after(LATE, () => (api.watchLag = watchLag));
    api.watchLag = LATE;
    const unlisted = new Set(WATCHED);
    api.intercept = ({ method, path }) => {
      const { pathname, searchParams } = new URL(path, `https://${api.host}`);
      const plural = pathname.split('/').at(-1) ?? '';
      const isList = method === 'GET' && searchParams.get('watch') !== 'true';
      return isList && unlisted.delete(plural) ? json(200, this.pastList(plural, version)) : undefined;
    };
  }

  private pastList(plural: string, version: number): object {
    const kind = this.api.kind(plural);
    const items = new Map(this.objects(plural).map((object) => [object.metadata.name, object]));
    for (const { object, previous } of this.api.storage.since(kind, version).toReversed())
      if (previous === undefined) items.delete(object.metadata.name);
      else items.set(object.metadata.name, previous);
    const metadata = { resourceVersion: String(version) };
    return {
      kind: `${kind.kind}List`,
      apiVersion: `${kind.group}/${kind.versions[0]}`,
      metadata,
      items: [...items.values()],
    };
  }

  /** Waits until each object is Ready with its current spec and has no predecessor left. */
  async settled(...names: readonly string[]): Promise<void> {
    const isSettled = (name: string): boolean =>
      this.isReady(name) &&
      this.condition(name)?.observedGeneration === this.profile(name)?.metadata.generation &&
      fieldAt(this.profile(name)?.status, 'predecessors') === undefined;
    await this.until(`${names.join(', ')} settled`, () => names.every(isSettled), 60 * MINUTE);
    await this.rest();
  }

  async rest(): Promise<void> {
    await this.clock.advance(3 * LATE);
    this.states.push(stateOf(this));
  }

  /** Ends the first part of a history, in which {@link moments} perturbs nothing. */
  begin(): void {
    const { effects, events } = this;
    this.begun = { effects: effects.length, events: events.length, calls: this.aws.admin.calls().length };
  }

  /**
   * Returns every possible single perturbation (fault, crash, unseen event, outdated list) of this finished history;
   * `behind` says how old the lists are.
   */
  moments(behind: readonly number[]): readonly Perturbation[] {
    const { begun, effects, events, calls } = this;
    const after = (first: number, last: number): readonly number[] =>
      Array.from({ length: last - first }, (_, index) => first + index + 1);
    return [
      ...after(begun.effects, effects.length).map((nth) => ({ kind: 'crash', nth }) as const),
      ...after(begun.events, events.length).flatMap((nth) => [
        { kind: 'unseen', nth } as const,
        ...behind.filter((count) => count <= nth).map((count) => ({ kind: 'lag', nth, behind: count }) as const),
      ]),
      ...after(begun.calls, calls.length).flatMap((nth) =>
        FAULTS.map((fault) => ({ kind: 'fault', nth, fault }) as const),
      ),
    ];
  }

  describe(perturbation: Perturbation): string {
    const { kind, nth } = perturbation;
    if (kind === 'crash') return `crash after write ${nth}, ${this.effects[nth - 1]}`;
    if (perturbation.kind === 'fault') return `${perturbation.fault} of call ${nth}, ${this.calls[nth - 1]?.operation}`;
    const { type, kind: { plural } = {}, object } = this.events[nth - 1] ?? {};
    const event = `event ${nth}, ${type} ${plural} ${object?.metadata.name}`;
    return perturbation.kind === 'lag' ? `lists ${perturbation.behind} events old after ${event}` : `unseen ${event}`;
  }

  get outcome(): Outcome {
    return { states: this.states, changes: this.changes };
  }

  /** Ends the history, and deletes the remaining objects. */
  async end(): Promise<void> {
    this.isOver = true;
    this.duration = this.elapsed;
    this.changes = changesIn(this);
    this.calls = this.aws.admin.calls();
    this.aws.admin.clearFaults();
    await this.deleteAndFinish(...this.objects(PLURAL).map(({ metadata }) => metadata.name));
  }
}

const idOf = ({ kind, object }: StoredEvent): string => `${kind.plural}/${object.metadata.name}`;

function stateOf(world: SimulatedWorld): unknown {
  const { now: _now, roles, ...aws } = world.aws.admin.snapshot();
  const objects = WATCHED.map((plural) => world.objects(plural));
  return withoutIds([objects, { ...aws, roles: roles.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }]);
}

/** Returns a copy without the values that differ between two runs: ids, versions, times, and the record annotation. */
export function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => (DROPPED.includes(key) ? undefined : inner));
  return JSON.parse(text.replaceAll(ID_OR_TIME, '<id or time>')) as unknown;
}

/** The record repeats values of status, and the manager may update it only at the beginning of the next reconcile. */
const DROPPED = ['uid', 'id', 'resourceVersion', 'creationTimestamp', 'createdAt', RECORD_ANNOTATION];
const ID_OR_TIME = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|AROA[A-Z\d]+|\d{4}-\d\d-\d\dT[\d:.]+Z/g;

function changesIn(world: SimulatedWorld): Readonly<Record<string, number>> {
  const changes: Record<string, number> = {};
  for (const { operation, applied, identifiers } of world.mutations()) {
    if (!applied || !/^(Create|Delete)/.test(operation)) continue;
    const { fargateProfileName, RoleName, principalArn } = identifiers;
    const change = `${operation} ${fargateProfileName ?? RoleName ?? principalArn}`;
    changes[change] = (changes[change] ?? 0) + 1;
  }
  return changes;
}
