import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { rawConditions } from '../../shared/object-state.ts';
import { recordOf } from '../../shared/record.ts';
import { describeTransit } from './profile-status.ts';

/** Returns the changes that, by status and record, EKS may be making to the object's Fargate profiles. */
export function changesInProgress(
  object: AWSFargateProfile,
): readonly { readonly profile: string; readonly doing: string }[] {
  const { profileName, profileStatus, predecessors = [] } = object.status ?? {};
  const shown = [{ name: profileName, status: profileStatus }, ...predecessors].flatMap(({ name, status }) => {
    const doing = describeTransit(status);
    return name === undefined || doing === undefined ? [] : [{ profile: name, doing }];
  });
  const requested = recordOf(object).profiles.flatMap(({ name, requestedAt, served }) =>
    requestedAt === undefined || served === true || shown.some(({ profile }) => profile === name)
      ? []
      : [{ profile: name, doing: 'being created' }],
  );
  return [...shown, ...requested];
}

export const hasChangeInProgress = (object: AWSFargateProfile): boolean => changesInProgress(object).length > 0;

export function isAtRest({ metadata, status }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    fieldAt(status, 'observedGeneration') === metadata.generation &&
    fieldAt(status, 'predecessors') === undefined &&
    isTrue(status, 'Ready') &&
    !isTrue(status, 'Paused')
  );
}

const isTrue = (status: unknown, type: string): boolean =>
  rawConditions(status).some(
    (condition) => fieldAt(condition, 'type') === type && fieldAt(condition, 'status') === 'True',
  );
