import type { Context, Output } from '../context.ts';
import { constraintViolated, iamErrors } from '../errors.ts';
import { optionalInteger, optionalString, recordList } from '../input.ts';
import type { Input } from '../input.ts';
import { currentVersion, versionVisibleAfter } from './role-visibility.ts';
import type { EmulatedRole, RoleVersion, TagMap } from '../resources.ts';

/** Returns the name of an input member in the spelling of IAM's validation errors: `roleName` for `RoleName`. */
function memberName(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export function requiredText(input: Input, name: string): string {
  const value = optionalString(input, name);
  if (value === undefined) throw constraintViolated(null, memberName(name), 'Member must not be null');
  if (value === '') {
    throw constraintViolated('', memberName(name), 'Member must have length greater than or equal to 1');
  }
  return value;
}

/** Reads the name of an IAM resource: 1 to `longest` characters of `[\w+=,.@-]`. */
export function requiredName(input: Input, name: string, longest: number): string {
  const value = requiredText(input, name);
  if (value.length > longest) {
    throw constraintViolated(value, memberName(name), `Member must have length less than or equal to ${longest}`);
  }
  if (!/^[\w+=,.@-]+$/.test(value)) {
    throw iamErrors.validation(
      `The specified value for ${memberName(name)} is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-`,
    );
  }
  return value;
}

export function optionalPath(input: Input): string {
  const path = optionalString(input, 'Path') ?? '/';
  if (path.length > 512 || !/^(?:\/|\/[\u0021-\u007e]*\/)$/.test(path)) {
    throw iamErrors.validation(
      'The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.',
    );
  }
  return path;
}

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
  const name = requiredName(input, 'RoleName', 64);
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
  const name = requiredName(input, 'RoleName', 64);
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

/** Reads the tags in the input of an IAM operation. IAM refuses two tag keys that differ only in case. */
export function readTags(input: Input): TagMap {
  const list = recordList(input, 'Tags');
  if (list.length > 50) {
    throw constraintViolated('[tags]', 'tags', 'Member must have length less than or equal to 50');
  }
  const tags: [string, string][] = [];
  const folded = new Set<string>();
  list.forEach((item, index) => {
    const key = optionalString(item, 'Key') ?? '';
    const value = optionalString(item, 'Value') ?? '';
    const at = `tags.${index + 1}.member`;
    checkTagText(key, `${at}.key`, 1, 128);
    checkTagText(value, `${at}.value`, 0, 256);
    if (key.toLowerCase().startsWith('aws:')) {
      throw iamErrors.invalidInput('The specified tag key is invalid: keys that begin with aws: are reserved.');
    }
    if (folded.has(key.toLowerCase())) {
      throw iamErrors.invalidInput('Duplicate tag keys found. Please note that Tag keys are case insensitive.');
    }
    folded.add(key.toLowerCase());
    tags.push([key, value]);
  });
  return Object.fromEntries(tags);
}

function checkTagText(text: string, member: string, shortest: number, longest: number): void {
  if (text.length < shortest) {
    throw constraintViolated(text, member, `Member must have length greater than or equal to ${shortest}`);
  }
  if (text.length > longest) {
    throw constraintViolated(text, member, `Member must have length less than or equal to ${longest}`);
  }
  if (!/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(text)) {
    throw constraintViolated(
      text,
      member,
      'Member must satisfy regular expression pattern: [\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+',
    );
  }
}

/** Returns one page of an IAM list. The paging follows the members `Marker`, `MaxItems` and `IsTruncated` of IAM. */
export function page<T>(input: Input, items: readonly T[], context: Context): { items: readonly T[]; paging: Output } {
  const asked = optionalInteger(input, 'MaxItems') ?? 100;
  if (asked < 1 || asked > 1000) {
    throw constraintViolated(String(asked), 'maxItems', 'Member must have value between 1 and 1000');
  }
  const marker = optionalString(input, 'Marker');
  const start = marker === undefined ? 0 : Number(marker);
  if (!Number.isInteger(start) || start < 0) throw iamErrors.validation('Invalid Marker.');
  const end = start + Math.min(asked, context.state.config.iam.maxPageSize);
  const truncated = end < items.length;
  return {
    items: items.slice(start, end),
    paging: { IsTruncated: truncated, ...(truncated ? { Marker: String(end) } : {}) },
  };
}

/** Whether the managed policy exists in the AWS emulator, as a policy of AWS or of the caller's account. */
export function policyExists(arn: string, context: Context): boolean {
  return context.account.policies.has(arn) || isAwsManagedPolicy(arn, context.account.partition);
}

// The AWS managed policies that the AWS emulator knows. The real AWS has more.
const awsManagedPolicies = new Set([
  'AdministratorAccess',
  'AmazonEC2ContainerRegistryReadOnly',
  'AmazonEC2ContainerRegistryPullOnly',
  'AmazonEKSClusterPolicy',
  'AmazonEKSFargatePodExecutionRolePolicy',
  'AmazonEKSWorkerNodePolicy',
  'AmazonEKS_CNI_Policy',
  'AmazonS3ReadOnlyAccess',
  'AmazonSSMManagedInstanceCore',
  'CloudWatchAgentServerPolicy',
  'CloudWatchLogsFullAccess',
  'PowerUserAccess',
  'ReadOnlyAccess',
  'SecurityAudit',
]);

function isAwsManagedPolicy(arn: string, partition: string): boolean {
  const prefix = `arn:${partition}:iam::aws:policy/`;
  return arn.startsWith(prefix) && awsManagedPolicies.has(arn.slice(prefix.length));
}
