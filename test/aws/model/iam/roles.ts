import type { Context, Operations, Output } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { type Input, optionalString } from '../input.ts';
import { rolesForRead, noSuchRole, roleForRead, roleForWrite, roleResource } from './role-lookup.ts';
import { policyExists } from './managed-policies.ts';
import { page } from './paging.ts';
import { readTags } from './tag-validation.ts';
import { ROLE_NAME_LIMIT, optionalPath, requiredName, requiredText } from './name-limits.ts';
import { changeRole, addRole, removeBoundary } from './role-changes.ts';
import { currentVersion } from './role-visibility.ts';
import type { EmulatedRole, RoleVersion } from '../resources.ts';
import { Instant } from '../time.ts';
import { readTrustPolicy } from './trust-policy.ts';

// IAM's default quotas (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html). White space in a
// trust policy does not count.
const MAX_TRUST_POLICY_SIZE = 2_048;
const MAX_TAGS = 50;

/** IAM's default for the maximum duration of a session of a role, in seconds. All roles of the emulator have it. */
export const MAX_SESSION_SECONDS = 3_600;

/** Percent-encodes the text by RFC 3986. IAM returns policy documents in this encoding. */
function urlEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function tagList(tags: RoleVersion['tags']): Output['Tags'] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

function summary(role: EmulatedRole, version: RoleVersion): Output {
  return {
    Path: role.path,
    RoleName: role.name,
    RoleId: role.id,
    Arn: role.arn,
    CreateDate: new Instant(role.createdAt),
    AssumeRolePolicyDocument: urlEncode(version.trustPolicy),
    ...(version.description === '' ? {} : { Description: version.description }),
    MaxSessionDuration: MAX_SESSION_SECONDS,
  };
}

function view(role: EmulatedRole, version: RoleVersion): Output {
  const boundary = version.permissionsBoundary;
  return {
    ...summary(role, version),
    ...(boundary === undefined
      ? {}
      : { PermissionsBoundary: { PermissionsBoundaryType: 'Policy', PermissionsBoundaryArn: boundary } }),
    ...(Object.keys(version.tags).length === 0 ? {} : { Tags: tagList(version.tags) }),
  };
}

function readTrust(input: Input, member: string): string {
  const document = requiredText(input, member);
  readTrustPolicy(document);
  if (document.replace(/\s/g, '').length > MAX_TRUST_POLICY_SIZE) {
    throw iamErrors.limitExceeded(`Cannot exceed quota for ACLSizePerRole: ${MAX_TRUST_POLICY_SIZE}`);
  }
  return document;
}

function readBoundary(input: Input, context: Context): string | undefined {
  const arn = optionalString(input, 'PermissionsBoundary');
  if (arn !== undefined && !policyExists(arn, context)) {
    throw iamErrors.noSuchEntity(`Scope ARN: ${arn} does not exist or is not attachable.`);
  }
  return arn;
}

function createRole(input: Input, context: Context): Output {
  const { account, state, now, principal } = context;
  const name = requiredName(input, 'RoleName', ROLE_NAME_LIMIT);
  const path = optionalPath(input);
  const trustPolicy = readTrust(input, 'AssumeRolePolicyDocument');
  const permissionsBoundary = readBoundary(input, context);
  const tags = readTags(input);
  if (account.roles.has(name.toLowerCase())) {
    throw iamErrors.entityAlreadyExists(`Role with name ${name} already exists.`);
  }
  if (account.roles.size >= state.config.iam.maxRoles) {
    throw iamErrors.limitExceeded(`Cannot exceed quota for RolesPerAccount: ${state.config.iam.maxRoles}`);
  }
  const description = optionalString(input, 'Description');
  const role = addRole(account, state.env, now, {
    name,
    path,
    trustPolicy,
    tags,
    foreign: principal.foreign,
    ...(description === undefined ? {} : { description }),
    ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
  });
  return { Role: view(role, currentVersion(role)) };
}

function getRole(input: Input, context: Context): Output {
  const { role, version } = roleForRead(input, context);
  return { Role: { ...view(role, version), RoleLastUsed: {} } };
}

function listRoles(input: Input, context: Context): Output {
  const { items, paging } = page(input, rolesForRead(context));
  return { Roles: items.map(({ role, version }) => summary(role, version)), ...paging };
}

function deleteRole(input: Input, context: Context): Output {
  const { account, now, state } = context;
  const role = roleForWrite(input, context);
  const { attachedPolicies, inlinePolicies } = currentVersion(role);
  if ([...account.instanceProfiles.values()].some(({ roles }) => roles.includes(role.name))) {
    throw iamErrors.deleteConflict('Cannot delete entity, must remove roles from instance profile first.');
  }
  if (attachedPolicies.length > 0) {
    throw iamErrors.deleteConflict('Cannot delete entity, must detach all policies first.');
  }
  if (Object.keys(inlinePolicies).length > 0) {
    throw iamErrors.deleteConflict('Cannot delete entity, must delete policies first.');
  }
  for (const profile of state.profilesOfRole(account, role.arn, now)) {
    state.record({ at: now, kind: 'roleDeletedUnderProfile', subject: role.arn, detail: profile.arn });
  }
  account.roles.delete(role.name.toLowerCase());
  account.ghosts.set(role.name.toLowerCase(), { role, deletedAt: now });
  return {};
}

function updateAssumeRolePolicy(input: Input, context: Context): Output {
  const trustPolicy = readTrust(input, 'PolicyDocument');
  changeRole(roleForWrite(input, context), context.now, { trustPolicy });
  return {};
}

function putBoundary(input: Input, context: Context): Output {
  requiredText(input, 'PermissionsBoundary');
  const permissionsBoundary = readBoundary(input, context);
  const role = roleForWrite(input, context);
  if (permissionsBoundary !== undefined) changeRole(role, context.now, { permissionsBoundary });
  return {};
}

function deleteBoundary(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  if (currentVersion(role).permissionsBoundary === undefined) throw noSuchRole(role.name);
  removeBoundary(role, context.now);
  return {};
}

function tagRole(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const added = readTags(input);
  const replaced = new Set(Object.keys(added).map((key) => key.toLowerCase()));
  const kept = Object.entries(currentVersion(role).tags).filter(([key]) => !replaced.has(key.toLowerCase()));
  const tags = { ...Object.fromEntries(kept), ...added };
  if (Object.keys(tags).length > MAX_TAGS) {
    throw iamErrors.limitExceeded(`Cannot exceed quota for TagsPerRole: ${MAX_TAGS}`);
  }
  changeRole(role, context.now, { tags });
  return {};
}

function untagRole(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const keys = Array.isArray(input['TagKeys']) ? input['TagKeys'].map((key) => String(key).toLowerCase()) : [];
  const tags = Object.fromEntries(
    Object.entries(currentVersion(role).tags).filter(([key]) => !keys.includes(key.toLowerCase())),
  );
  changeRole(role, context.now, { tags });
  return {};
}

const resource = roleResource;

export const roleOperations: Operations = {
  CreateRole: {
    resource: (input, context) => {
      const { partition, id } = context.account;
      return `arn:${partition}:iam::${id}:role${optionalString(input, 'Path') ?? '/'}${optionalString(input, 'RoleName') ?? ''}`;
    },
    run: createRole,
    mutates: true,
  },
  GetRole: { resource, run: getRole, mutates: false },
  ListRoles: { resource, run: listRoles, mutates: false },
  DeleteRole: { resource, run: deleteRole, mutates: true },
  UpdateAssumeRolePolicy: { resource, run: updateAssumeRolePolicy, mutates: true },
  PutRolePermissionsBoundary: { resource, run: putBoundary, mutates: true },
  DeleteRolePermissionsBoundary: { resource, run: deleteBoundary, mutates: true },
  TagRole: { resource, run: tagRole, mutates: true },
  UntagRole: { resource, run: untagRole, mutates: true },
};
