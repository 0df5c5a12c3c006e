import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { rawConditions } from '../../shared/object-state.ts';
import { recordOf } from '../../shared/record.ts';
import { describeTransit } from './profile-status.ts';

/** Whether, by status and record, EKS may be changing one of the object's Fargate profiles. */
export function hasChangeInProgress(object: AWSFargateProfile): boolean {
  const { profileName, profileStatus, predecessors = [] } = object.status ?? {};
  const shown = [{ name: profileName, status: profileStatus }, ...predecessors];
  return (
    shown.some(({ name, status }) => name !== undefined && describeTransit(status) !== undefined) ||
    recordOf(object).profiles.some(({ requestedAt, served }) => requestedAt !== undefined && served !== true)
  );
}

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
