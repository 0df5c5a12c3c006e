import * as E from 'fp-ts/lib/Either.js';
import type { Store, TypedEntry } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';
import { diffMergePatch, textAt } from 'controller-runtime/json';
import { toPrintableLine } from 'controller-runtime/text';
import { currentStateOf } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { INSTANCE_GROUPS } from './actions.ts';
import type { GroupState } from './group-state.ts';

export interface GroupReporterOptions extends Pick<ControllerOptions, 'client' | 'recorder' | 'clock'> {
  readonly groups: Store;
}

/** How often the event about a lasting error is repeated. The API server keeps an event for an hour. */
const REPEAT_EVENT: Ms = 25 * 60_000;

export class GroupReporter {
  private readonly options: GroupReporterOptions;
  /** For each InstanceGroup with an error, the last event about it. */
  private readonly reported = new Map<string, { readonly message: string; readonly at: Ms }>();
  /** Whether keiko's CRD lacks `status.message`. */
  private isMessageDropped = false;

  constructor(options: GroupReporterOptions) {
    this.options = options;
  }

  async report(
    group: KubeObject,
    profile: TypedEntry<AWSFargateProfile> | undefined,
    found: GroupState,
    context: ReconcileContext,
  ): Promise<void> {
    const state: GroupState = { ...found, message: toPrintableLine(found.message) };
    const before = currentStateOf(group);
    // The event is recorded before the status is written, because a refused write ends this function.
    this.recordError(group, state, context);
    await this.writeStatus(group, state, context.signal);
    if (state.state === before || (state.state !== 'Ready' && state.state !== 'Deleting')) return;
    const { recorder } = this.options;
    if (state.state === 'Ready' && !state.isProblem) recorder.record(group, 'Normal', 'Ready', state.message);
    const role = keptRoleOf(profile);
    const when =
      state.state === 'Ready' ? 'when no Fargate profile uses it anymore' : 'unless another Fargate profile uses it';
    const message = `IAM role ${role} existed before. The controller uses it, and does not change or delete it. Delete it ${when}`;
    if (role !== undefined) recorder.record(group, 'Normal', 'RoleKept', message);
  }

  forget(key: ObjectKey): void {
    this.reported.delete(keyText(key));
  }

  private async writeStatus(group: KubeObject, { state, message }: GroupState, signal: AbortSignal): Promise<void> {
    const { client, groups } = this.options;
    const before = { currentState: currentStateOf(group), message: textAt(group['status'], 'message') };
    if (before.currentState === state && (this.isMessageDropped || before.message === message)) return;
    const status = diffMergePatch(before, { currentState: state, message });
    const patch = { metadata: { resourceVersion: group.metadata.resourceVersion }, status };
    const written = await client.mergePatch(INSTANCE_GROUPS, keyOf(group), patch, { subresource: 'status', signal });
    this.isMessageDropped = textAt(written['status'], 'message') === undefined;
    groups.replaceWith(written);
  }

  private recordError(
    group: KubeObject,
    { isProblem, reason, message }: GroupState,
    { logger }: ReconcileContext,
  ): void {
    const { clock, recorder } = this.options;
    if (!isProblem) return this.forget(keyOf(group));
    const key = keyText(keyOf(group));
    const last = this.reported.get(key);
    const now = clock.monotonic();
    if (last?.message === message && now - last.at < REPEAT_EVENT) return;
    this.reported.set(key, { message, at: now });
    logger.warn('An InstanceGroup has an error', { reason, problem: message });
    recorder.record(group, 'Warning', reason, message);
  }
}

/** Returns a role that the controller uses but never deletes, such as keiko's. `undefined` with spec.roleARN. */
function keptRoleOf(profile: TypedEntry<AWSFargateProfile> | undefined): string | undefined {
  if (profile === undefined || E.isLeft(profile.decoded)) return undefined;
  const { spec, status = {} } = profile.decoded.right;
  return spec.roleARN === undefined && status.role?.managed === false ? status.role.name : undefined;
}
