import { type Admin, createAdmin } from './admin/admin.ts';
import { type CallRecord, CallLog } from './call-log.ts';
import { type EmulatorClock, systemClock } from './clock.ts';
import { type ClientOutcome, type FaultEffect, Faults } from './faults.ts';
import { type ConfigPatch, defaultConfig, withConfig } from './model/config.ts';
import { type ModelEnv, seededEnv } from './model/env.ts';
import { Model } from './model/model.ts';
import type { KeyRequest } from './model/sts/principals.ts';
import { type ReceivedCall, receive, respond } from './wire/handle.ts';
import type { WireRequest } from './wire/http.ts';

export interface EmulatorOptions {
  readonly clock?: EmulatorClock;
  readonly env?: ModelEnv;
  readonly config?: ConfigPatch;
  /** The access keys that exist when the AWS emulator starts. */
  readonly keys?: readonly KeyRequest[];
}

/**
 * A function that the AWS emulator calls right before and right after the execution of each AWS call. The emulator
 * waits until the function has returned.
 */
export type CallListener = (call: CallRecord, phase: 'before' | 'after') => void | Promise<void>;

/** The emulated AWS in one process: the model of AWS, the AWS protocols, injected faults and a log of the calls. */
export class Emulator {
  readonly clock: EmulatorClock;
  readonly log = new CallLog();
  readonly faults = new Faults();
  /** Functions with which tests change and read the emulated AWS without an AWS call. */
  readonly admin: Admin;
  readonly model: Model;
  readonly #listeners = new Set<CallListener>();

  constructor(options: EmulatorOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.model = new Model(options.env ?? seededEnv(1), withConfig(defaultConfig, options.config ?? {}));
    for (const key of options.keys ?? []) this.model.principals.register(key);
    this.admin = createAdmin(this);
  }

  /** Adds a listener for AWS calls, and returns a function that removes the listener. */
  onCall(listener: CallListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async handle(request: WireRequest): Promise<ClientOutcome> {
    const { model } = this;
    const received = receive(model, request, this.clock.now());
    const seq = this.log.open(received, request, this.clock.now());
    const strike = this.faults.take(received);
    if (strike !== undefined) this.log.update(seq, { fault: strike.kind });

    const before = await this.#strike(strike, 'before', received);
    if (before !== undefined) return this.#close(seq, before);
    const latency = model.state.draw(model.state.config.latencyMs);
    if (latency > 0) await this.clock.sleep(latency);

    await this.#tell(seq, 'before');
    const actedAt = this.clock.now();
    const answered = respond(model, received, actedAt);
    this.log.update(seq, { actedAt, applied: received.mutates && answered.error === undefined });
    await this.#tell(seq, 'after');

    const after = await this.#strike(strike, 'after', received);
    return this.#close(seq, after ?? { kind: 'answer', answered });
  }

  async #strike(
    strike: FaultEffect | undefined,
    when: FaultEffect['when'],
    received: ReceivedCall,
  ): Promise<ClientOutcome | undefined> {
    if (strike?.when !== when) return undefined;
    if (strike.delayMs > 0) await this.clock.sleep(strike.delayMs);
    return strike.replaceAnswer(received);
  }

  /** Calls all listeners for an AWS call. */
  async #tell(seq: number, phase: 'before' | 'after'): Promise<void> {
    const call = this.log.get(seq);
    if (call === undefined) return;
    for (const listener of this.#listeners) await listener(call, phase);
  }

  #close(seq: number, exchange: ClientOutcome): ClientOutcome {
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
