import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { HOUR, NAMESPACE } from './cluster.ts';
import { SimulatedWorld } from './simulated-world.ts';

export const BASE = `${NAMESPACE}_web`;
export const REPLACEMENT = `9999-${BASE}`;
export const REPLACE = { updateStrategy: { type: 'Replace' } };
export const OTHER = { selectors: [{ namespace: 'other' }] };
export const THIRD = { selectors: [{ namespace: 'third' }] };

/** A world with one object `web`, which can be replaced, and whose record can be restored from an earlier moment. */
export class ReplaceableWorld extends SimulatedWorld {
  backup(): KubeObject {
    return structuredClone(this.profile('web')) ?? expect.fail('there is no object');
  }

  get names(): readonly string[] {
    return this.aws.admin.profiles().map(({ name }) => name);
  }

  /**
   * Removes the object and its finalizers, so that its AWS resources stay, as after the loss of the management cluster.
   */
  forget(): void {
    if (this.profile('web') === undefined) return;
    this.patch(PLURAL, 'web', { metadata: { finalizers: null } });
    if (this.profile('web') !== undefined) this.remove(PLURAL, 'web');
  }

  /** Puts the object of a backup into a management cluster that has lost it; no manager runs. */
  restore({ metadata, spec, status }: KubeObject, over: { status?: boolean; spec?: object } = {}): void {
    this.forget();
    const { name, labels, annotations, finalizers } = metadata;
    this.create(PLURAL, {
      metadata: { name, labels, annotations, finalizers },
      spec: { ...(spec as object), ...over.spec },
    });
    if (over.status !== false && status !== undefined) this.patch(PLURAL, 'web', { status }, 'status');
  }

  shown(type = 'Ready'): string {
    const { status, reason } = this.condition('web', type) ?? {};
    return `${status}/${reason}`;
  }

  async shows(text: string, type = 'Ready'): Promise<void> {
    await this.until(`${type} ${text}`, () => this.shown(type) === text, HOUR);
  }

  change(change: object): void {
    this.patch(PLURAL, 'web', change);
  }

  async replaced(spec: object = OTHER): Promise<void> {
    const before = this.names;
    this.change({ spec });
    await this.until(
      'the end of the replacement',
      () => this.shown() === 'True/Ready' && this.names.length === 1 && this.names[0] !== before[0],
      HOUR,
    );
  }

  /** Starts a manager, and creates `web` with updateStrategy Replace. Waits until `web` is Ready. */
  async startReplaceable(spec: object = {}): Promise<void> {
    await this.startWithReadyObject('web', { ...REPLACE, ...spec });
  }

  async startReplaced(): Promise<void> {
    await this.startReplaceable();
    await this.replaced();
    expect(this.names).to.deep.equal([REPLACEMENT]);
  }
}

/**
 * Returns the changes in AWS since `from`, except those of access entries. The controller makes these because the
 * recorded role was deleted in the meantime, so it checks the access entry of the current role.
 */
export const changesSince = (world: SimulatedWorld, from: number): readonly string[] =>
  world.operations(from).filter((operation) => !operation.endsWith('AccessEntry'));
