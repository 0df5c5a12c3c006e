import * as E from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { isConflict, isInvalid, isNotFound, keyOf, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import { type AWSFargateProfile, WATCH_FILTER_LABEL } from '../../api/v1beta2/index.ts';
import { apiRejectionFrom, partsOfRejection } from '../shared/api-rejections.ts';
import { joinParts } from '../shared/message.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { FOREIGN_SCHEMA_REMEDY, isLeftToOthers } from '../shared/crd/served-schema.ts';
import { PROFILES } from '../shared/live-profiles.ts';
import { type ActionsOptions, Actions, Conflict } from './actions.ts';
import { type Action, type GroupInputs, decide, isReconciled } from './decide.ts';
import { type GroupState, errorState } from './group-state.ts';
import { withFieldsOfGroup } from './profile-spec.ts';
import { GroupReporter, type GroupReporterOptions } from './status-and-events.ts';
import { DONE, LEASE_EXPIRED, backOff, after, CONFLICT } from '../shared/requeue.ts';

interface InstanceGroupOptions
  extends ActionsOptions, GroupReporterOptions, Pick<ControllerOptions, 'watchFilter' | 'leadership' | 'schema'> {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
}

/** One reconcile makes at most one change of the InstanceGroup or its AWSFargateProfile. */
export class InstanceGroupReconciler {
  private readonly options: InstanceGroupOptions;
  private readonly actions: Actions;
  private readonly reporter: GroupReporter;

  constructor(options: InstanceGroupOptions) {
    this.options = options;
    this.actions = new Actions(options);
    this.reporter = new GroupReporter(options);
  }

  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const inputs = await this.readInputs(key, context.signal);
    if (E.isLeft(inputs)) return inputs.left;
    const decision = decide(inputs.right);
    if (decision === undefined) return DONE;
    if (this.options.leadership.remaining() <= 0) return LEASE_EXPIRED;
    try {
      const { group, refusal } = await this.carryOut(inputs.right, decision.action, context);
      if (group === undefined) return DONE;
      const state = refusal ?? decision.state;
      await this.reporter.report(group, inputs.right.profile, state, context);
      if (refusal !== undefined && !isAboutSpec(refusal)) return RETRY_SOON;
      if (inputs.right.otherThan !== undefined) return WATCHED_ELSEWHERE;
      return state.isProblem ? RETRY_REFUSED : DONE;
    } catch (error) {
      if (error instanceof Conflict || isConflict(error)) return CONFLICT;
      // The cache still contains an object that is gone. The watch or the backoff triggers the next reconcile.
      if (isNotFound(error)) return backOff('an object is gone that the cache still has');
      throw error;
    }
  };

  /** Returns the API server's refusal, if any, as the state to report on the InstanceGroup. */
  private async carryOut(
    { group }: GroupInputs,
    action: Action | undefined,
    { logger, signal }: ReconcileContext,
  ): Promise<{ readonly group: KubeObject | undefined; readonly refusal?: GroupState }> {
    if (action === undefined) return { group };
    const blocker = await this.findSchemaBlocker(action, signal);
    if (blocker !== undefined) return { group, refusal: blocker };
    logger.info('Changing an object for an InstanceGroup', { action: action.kind });
    try {
      return { group: await this.actions.carryOut(group, action, signal) };
    } catch (error) {
      const refusal = refusalOf(action, error);
      if (refusal === undefined) throw error;
      return { group, refusal };
    }
  }

  /** Prevents writes that would drop fields, or would change an AWSFargateProfile that CAPA reconciles. */
  private async findSchemaBlocker({ kind }: Action, signal: AbortSignal): Promise<GroupState | undefined> {
    if (kind !== 'createProfile' && kind !== 'updateProfile' && kind !== 'claimProfile') return undefined;
    const schema = await this.options.schema.checkRecently(signal);
    if (!isLeftToOthers(schema)) return undefined;
    if (schema.kind === 'capaServes') {
      const problem = `Cluster API Provider AWS answers the webhook ${schema.webhook}, so its controller reconciles AWSFargateProfiles`;
      return errorState(
        'CAPAServesProfiles',
        `${problem}. Turn off its feature gate EKSFargate (EXP_EKS_FARGATE=false)`,
      );
    }
    const problem = 'The API server serves AWSFargateProfiles with the CRD of another provider';
    return errorState('ForeignSchema', `${problem}. ${FOREIGN_SCHEMA_REMEDY}`);
  }

  /** Returns a Left if the InstanceGroup is gone, or a kind has not been listed yet. */
  private async readInputs(key: ObjectKey, signal: AbortSignal): Promise<E.Either<Requeue, GroupInputs>> {
    const { groups, profiles } = this.options;
    const group = groups.lookup(key);
    if (group.kind === 'absent') {
      this.reporter.forget(key);
      return E.left(DONE);
    }
    // Once the API server serves InstanceGroups, all of them are enqueued, so no requeue is needed.
    if (group.kind === 'unknown') return E.left(DONE);
    const profile = profiles.lookup(key);
    if (profile.kind === 'unknown') return E.left(backOff(profile.reason));
    if (profile.kind === 'found') return E.right({ group: group.object, profile });
    return E.right({ group: group.object, profile: undefined, ...(await this.readHidden(group.object, signal)) });
  }

  /** Reads an AWSFargateProfile that the watch filter hides, for example because it has another manager's label. */
  private async readHidden(group: KubeObject, signal: AbortSignal): Promise<Partial<GroupInputs>> {
    const { client, profiles, watchFilter } = this.options;
    if (watchFilter === undefined || !isReconciled(group)) return {};
    const object = await client.get(PROFILES, keyOf(group), { signal });
    if (object === undefined) return {};
    const isHidden = object.metadata.labels?.[WATCH_FILTER_LABEL] !== watchFilter;
    return { profile: { object, decoded: profiles.decode(object) }, ...(isHidden && { otherThan: watchFilter }) };
  }
}

const isAboutSpec = ({ reason }: GroupState): boolean => reason === 'InvalidSpec' || reason === 'ChangeRefused';

/** Returns `undefined` if the error is not a refusal. */
function refusalOf(action: Action, error: unknown): GroupState | undefined {
  if (isInvalid(error) && (action.kind === 'createProfile' || action.kind === 'updateProfile')) {
    const words = withFieldsOfGroup(error.message.replace(/^.*? is invalid: /s, ''));
    return action.kind === 'createProfile'
      ? errorState('InvalidSpec', `The API server refuses the AWSFargateProfile of this InstanceGroup: ${words}`)
      : errorState('ChangeRefused', `${words}. ${AFTER_REFUSED_CHANGE}`);
  }
  const rejection = apiRejectionFrom(error);
  return rejection && errorState('APIServerRefused', joinParts(partsOfRejection(rejection)));
}

const AFTER_REFUSED_CHANGE =
  'Undo the change of the InstanceGroup, or create another InstanceGroup and then delete this one. Until then the Fargate ' +
  'profile stays as it is';

/** For errors that only a user can fix. The next reconcile repeats the event, because events expire after an hour. */
const RETRY_REFUSED: Requeue = after(30 * 60_000, 'the InstanceGroup has an error that a user must end');

/** For refusals that do not depend on the spec, or while another provider's CRD is installed. */
const RETRY_SOON: Requeue = after(15_000, 'the API server refuses a request');

/** This manager reconciles again after a delay, because its watches do not report changes to the AWSFargateProfile. */
const WATCHED_ELSEWHERE: Requeue = after(15_000, 'another manager reconciles the AWSFargateProfile');
