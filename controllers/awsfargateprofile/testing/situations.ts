import { RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Desired, FoundRole } from '../model.ts';
import {
  CAPA_TAG,
  OWNER_TAG,
  PROFILE,
  THEN,
  aDeletedObject,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
} from './builders.ts';
import { TRUSTS } from './oracle.ts';

// What the tables of decisions begin from.

/** What the object desires while it lives. */
export const living = (spec: Partial<AWSFargateProfileSpec> = {}, status: AWSFargateProfileStatus = {}): Desired =>
  desiredOf(anObject({ spec, status }));
/** What it desires once it is deleted. */
export const leaving = (spec: Partial<AWSFargateProfileSpec> = {}, status: AWSFargateProfileStatus = {}): Desired =>
  desiredOfDeletion(aDeletedObject({ spec, status }));

/** Its profile has been asked for. */
export const ASKED: AWSFargateProfileStatus = { profileName: PROFILE, createRequestedAt: THEN };
/** Its profile has been ACTIVE and as the spec wants it. */
export const PROVISIONED: AWSFargateProfileStatus = { ...ASKED, initialization: { provisioned: true } };

/** The tags of what belongs to another object. */
export const FOREIGN: Readonly<Record<string, string>> = { [OWNER_TAG]: 'team-b/web' };
/** The tags of what Cluster API Provider AWS has made. */
export const CAPA: Readonly<Record<string, string>> = { [CAPA_TAG]: 'owned' };

/** A role that several objects may name, and that nobody here has made. */
export const SHARED = RoleName.of('shared');
export const SHARED_ARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
export const SHARED_ROLE: FoundRole = aRole({ name: SHARED, tags: {}, trust: TRUSTS.wide });
