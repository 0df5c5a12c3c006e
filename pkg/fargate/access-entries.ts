import type { Ms } from 'controller-runtime/env';
import type { AccessEntry, Role } from '../cloud/index.ts';

/** EKS creates entries of this type for Fargate profiles. Entries of other types are never changed. */
export const FARGATE_TYPE = 'FARGATE_LINUX';
/** IAM returns a role's creation time in whole seconds, so an entry of the same second may be older than the role. */
const ROLE_TIME_PRECISION: Ms = 1_000;

/** True if the entry is older than the role, or from the same second as a role that was certainly recreated. */
export const isOutdated = (
  { type, createdAt }: Pick<AccessEntry, 'type' | 'createdAt'>,
  role: Pick<Role, 'createdAt'>,
  isKnownRecreated = false,
): boolean =>
  isKnownRecreated
    ? createdAt < role.createdAt + ROLE_TIME_PRECISION
    : type === FARGATE_TYPE && createdAt < role.createdAt;
