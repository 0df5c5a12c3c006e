import { keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import type { FargateGroup } from '../../api/external/index.ts';
import { type AWSFargateProfile, type Condition, KIND, WATCH_FILTER_LABEL } from '../../api/v1beta2/index.ts';
import { isDeleting } from '../shared/object-state.ts';
import { withFieldsOfGroup } from './profile-spec.ts';

/** The values of keiko's `status.currentState` that this controller sets, with keiko's meaning. */
type KeikoState =
  /** The Fargate profile's state in AWS is unknown. */
  | 'Init'
  /** The Fargate profile is still to be created. */
  | 'InitCreate'
  /** The InstanceGroup has changed, and AWS has not been compared with it yet. */
  | 'InitUpdate'
  /** EKS is creating, changing, or deleting the Fargate profile. */
  | 'ReconcileModifying'
  | 'Ready'
  | 'Deleting'
  | 'Error';

export interface GroupState {
  readonly state: KeikoState;
  /** In CamelCase, for events about the InstanceGroup. */
  readonly reason: string;
  readonly message: string;
  /** Whether a user must act. True for each `Error`, and if a `Ready` profile does not follow its InstanceGroup. */
  readonly isProblem?: true;
}

export const plainState = (state: KeikoState, message: string, reason: string = state): GroupState => ({
  state,
  reason,
  message,
});

export const errorState = (reason: string, message: string): GroupState => ({
  ...plainState('Error', message, reason),
  isProblem: true,
});

export const describeProfile = (profile: Parameters<typeof keyOf>[0]): string => `${KIND} ${keyText(keyOf(profile))}`;

export const nameTaken = (profile: Parameters<typeof keyOf>[0]): GroupState =>
  errorState(
    'ProfileNameTaken',
    `${describeProfile(profile)} exists and does not belong to this InstanceGroup. Delete one of the two, or give the ` +
      'InstanceGroup another name',
  );

function describeOtherFilter({ metadata }: KubeObject, watchFilter: string): string {
  const filter = metadata.labels?.[WATCH_FILTER_LABEL];
  const has =
    filter === undefined ? `it has no label ${WATCH_FILTER_LABEL}` : `its label ${WATCH_FILTER_LABEL} is "${filter}"`;
  return `${has}, and that of this InstanceGroup is "${watchFilter}"`;
}

export const doesNotFollow = (profile: KubeObject, watchFilter: string): GroupState =>
  errorState(
    'OtherWatchFilter',
    `${describeProfile(profile)} is not updated from this InstanceGroup: ${describeOtherFilter(profile, watchFilter)}. Give ` +
      'both the same label',
  );

export const deletedElsewhere = (profile: KubeObject, watchFilter: string): GroupState =>
  plainState(
    'Deleting',
    `${describeProfile(profile)} is being deleted by another manager: ${describeOtherFilter(profile, watchFilter)}. If ` +
      'that manager does not run, give both the same label',
  );

export function mirroredState(profile: AWSFargateProfile, group?: FargateGroup): GroupState {
  const { metadata, status = {} } = profile;
  const conditionOf = (type: string): Condition | undefined => status.conditions?.find((each) => each.type === type);
  const trueOf = (type: string): Condition | undefined =>
    conditionOf(type)?.status === 'True' ? conditionOf(type) : undefined;
  const [ready, problem, paused] = [conditionOf('Ready'), trueOf('Stalled'), trueOf('Paused')];
  const show = (state: KeikoState, condition: Condition | undefined): GroupState => ({
    state,
    reason: condition?.reason ?? state,
    message: messageOf(profile, condition, group),
    ...(condition?.type === 'Stalled' && { isProblem: true }),
  });
  if (isDeleting(profile)) return problem ? show('Error', problem) : show('Deleting', trueOf('Deleting') ?? ready);
  if (ready === undefined) return show('InitCreate', paused);
  if (status.observedGeneration !== metadata.generation) return show('InitUpdate', paused);
  if (ready.status === 'True') return show('Ready', problem ?? ready);
  if (problem !== undefined) return show('Error', problem);
  if (ready.status === 'Unknown') return show('Init', ready);
  return show(status.profileStatus === undefined ? 'InitCreate' : 'ReconcileModifying', paused ?? ready);
}

function messageOf(
  profile: AWSFargateProfile,
  condition: Condition | undefined,
  group: FargateGroup | undefined,
): string {
  const { message = '', reason } = condition ?? {};
  const name = describeProfile(profile);
  if (message === '') return `See ${name}`;
  const namespaces = new Set((group?.selectors ?? []).map(({ namespace }) => namespace));
  const hint = reason === 'ProfileNotOwned' && namespaces.size > 1 ? ` ${BUG_OF_KEIKO}` : '';
  return `${name}: ${withFieldsOfGroup(message)}${hint}`;
}

/**
 * keiko stored the address of a loop variable, so every selector got the namespace of the last one. Go 1.22 fixed this:
 * https://go.dev/blog/loopvar-preview
 */
const BUG_OF_KEIKO =
  'keiko before v0.19.0 gave all selectors of a profile the namespace of the last one: to keep such a profile, write that ' +
  'namespace into each selector of the InstanceGroup.';
