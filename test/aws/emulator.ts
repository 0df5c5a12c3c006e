import { createAdmin } from './admin.ts';
import type { Admin } from './admin.ts';
import { CallLog } from './call-log.ts';
import type { CallRecord } from './call-log.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { Faults } from './faults.ts';
import type { Exchange, Strike } from './faults.ts';
import { defaultConfig, withConfig } from './model/config.ts';
import type { Config, ConfigPatch } from './model/config.ts';
import { seededEnv } from './model/env.ts';
import type { ModelEnv } from './model/env.ts';
import { Model } from './model/model.ts';
import type { KeyRequest } from './model/principals.ts';
import { receive, respond } from './wire/handle.ts';
import type { Answered, Received } from './wire/handle.ts';
import type { WireRequest } from './wire/http.ts';

export interface EmulatorOptions {
  readonly clock?: Clock;
  readonly env?: ModelEnv;
  readonly config?: ConfigPatch;
  /** Keys that exist from the start and again after a reset. */
  readonly keys?: readonly KeyRequest[];
}

/**
 * Sees every call right before and right after the model acts; the call waits for it. `lost`, said before: the call never
 * gets there, has no effect and no answer.
 */
export type CallListener = (call: CallRecord, phase: 'before' | 'after') => void | 'lost' | Promise<void | 'lost'>;

/** AWS in one process: the model, its wire, its faults, and the log of what was asked of it. */
export class Emulator {
  readonly clock: Clock;
  readonly log = new CallLog();
  readonly faults = new Faults();
  /** What tests do to the world that no caller of AWS can. */
  readonly admin: Admin;
  readonly #env: ModelEnv;
  readonly #config: Config;
  readonly #keys: readonly KeyRequest[];
  readonly #listeners = new Set<CallListener>();
  #model: Model;

  constructor(options: EmulatorOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.#env = options.env ?? seededEnv(1);
    this.#config = withConfig(defaultConfig, options.config ?? {});
    this.#keys = options.keys ?? [];
    this.#model = this.#newModel();
    this.admin = createAdmin(this);
  }

  get model(): Model {
    return this.#model;
  }

  /** A new world: no clusters, roles, faults, denials or log, and the keys of the start. */
  reset(): void {
    this.#model = this.#newModel();
    this.faults.clear();
    this.log.clear();
  }

  #newModel(): Model {
    const model = new Model(this.#env, this.#config);
    for (const key of this.#keys) model.principals.register(key);
    return model;
  }

  /** Returns the function that ends the listening. */
  onCall(listener: CallListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async handle(request: WireRequest): Promise<Exchange> {
    const model = this.#model;
    const received = receive(model, request, this.clock.now());
    const seq = this.log.open(received, request, this.clock.now());
    const strike = this.faults.take(received);
    if (strike !== undefined) this.log.update(seq, { fault: strike.kind });

    const before = await this.#strike(strike, 'before', received, undefined);
    if (before !== undefined) return this.#close(seq, before);
    const latency = model.world.draw(model.world.config.latencyMs);
    if (latency > 0) await this.clock.sleep(latency);

    if (await this.#tell(seq, 'before')) return this.#close(seq, { kind: 'silence' });
    const actedAt = this.clock.now();
    const answered = respond(model, received, actedAt);
    this.log.update(seq, { actedAt, applied: received.mutates && answered.error === undefined });
    await this.#tell(seq, 'after');

    const after = await this.#strike(strike, 'after', received, answered);
    return this.#close(seq, after ?? { kind: 'answer', answered });
  }

  async #strike(
    strike: Strike | undefined,
    when: Strike['when'],
    received: Received,
    answered: Answered | undefined,
  ): Promise<Exchange | undefined> {
    if (strike?.when !== when) return undefined;
    if (strike.delayMs > 0) await this.clock.sleep(strike.delayMs);
    return strike.exchange(received, answered);
  }

  /** Whether a listener has the call get lost. */
  async #tell(seq: number, phase: 'before' | 'after'): Promise<boolean> {
    const call = this.log.get(seq);
    if (call === undefined) return false;
    const answers: unknown[] = [];
    for (const listener of this.#listeners) answers.push(await listener(call, phase));
    return phase === 'before' && answers.includes('lost');
  }

  #close(seq: number, exchange: Exchange): Exchange {
    if (exchange.kind === 'answer') {
      const { response, error } = exchange.answered;
      this.log.update(seq, {
        status: response.status,
        ...(error === undefined ? {} : { errorCode: error.code, errorMessage: error.message }),
      });
    }
    return exchange;
  }
}
