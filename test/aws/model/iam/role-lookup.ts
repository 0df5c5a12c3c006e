import type { Context } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { type Input, optionalString } from '../input.ts';
import type { EmulatedRole, RoleVersion } from '../resources.ts';
import { ROLE_NAME_LIMIT, requiredName } from './name-limits.ts';
import { currentVersion, versionVisibleAfter } from './role-visibility.ts';

export function noSuchRole(name: string): Error {
  return iamErrors.noSuchEntity(`The role with name ${name} cannot be found.`);
}

export interface VisibleRole {
  readonly role: EmulatedRole;
  readonly version: RoleVersion;
}

/**
 * Returns the role for an IAM operation that only reads. IAM is eventually consistent: such an operation finds a new
 * role only after a delay, and still finds a deleted role for some time.
 */
export function roleForRead(input: Input, context: Context): VisibleRole {
  const name = requiredName(input, 'RoleName', ROLE_NAME_LIMIT);
  const seen = readRole(name, context);
  if (seen === undefined) throw noSuchRole(name);
  return seen;
}

function readRole(name: string, context: Context): VisibleRole | undefined {
  const { account, now, state } = context;
  const { readAfterCreateMs, readAfterUpdateMs, readAfterDeleteMs } = state.config.iam;
  const role = account.roles.get(name.toLowerCase());
  if (role !== undefined && role.createdAt + readAfterCreateMs <= now) {
    const version = versionVisibleAfter(role, readAfterUpdateMs, now) ?? role.versions[0];
    if (version !== undefined) return { role, version };
  }
  const ghost = account.ghosts.get(name.toLowerCase());
  if (ghost !== undefined && ghost.deletedAt + readAfterDeleteMs > now) {
    return { role: ghost.role, version: currentVersion(ghost.role) };
  }
  return undefined;
}

export function rolesForRead(context: Context): readonly VisibleRole[] {
  const { account } = context;
  return [...new Set([...account.roles.keys(), ...account.ghosts.keys()])]
    .toSorted()
    .flatMap((name) => readRole(name, context) ?? []);
}

/**
 * Returns the role for an IAM operation that changes the role. IAM is eventually consistent: such an operation finds a
 * new role only after a delay.
 */
export function roleForWrite(input: Input, context: Context): EmulatedRole {
  const name = requiredName(input, 'RoleName', ROLE_NAME_LIMIT);
  const role = context.account.roles.get(name.toLowerCase());
  if (role === undefined || role.createdAt + context.state.config.iam.writeAfterCreateMs > context.now) {
    throw noSuchRole(name);
  }
  if (role.path.startsWith('/aws-service-role/')) {
    throw iamErrors.unmodifiable(
      `Cannot perform the operation on the protected role '${role.name}' - this role is only modifiable by AWS`,
    );
  }
  return role;
}

export function roleResource(input: Input, context: Context): string {
  const name = optionalString(input, 'RoleName') ?? '*';
  const known = context.account.roles.get(name.toLowerCase());
  return known?.arn ?? `arn:${context.account.partition}:iam::${context.account.id}:role/${name}`;
}
