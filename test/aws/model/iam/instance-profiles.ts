import type { Context, Operations, Output } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { page } from './paging.ts';
import { roleForRead, roleForWrite, roleResource } from './role-lookup.ts';
import { ROLE_NAME_LIMIT, INSTANCE_PROFILE_NAME_LIMIT, optionalPath, requiredName } from './name-limits.ts';
import { type Input, optionalString } from '../input.ts';
import type { InstanceProfile } from '../resources.ts';
import { Instant } from '../time.ts';

function view(profile: InstanceProfile): Output {
  return {
    InstanceProfileName: profile.name,
    InstanceProfileId: profile.id,
    Arn: profile.arn,
    Path: profile.path,
    CreateDate: new Instant(profile.createdAt),
    Roles: [],
  };
}

function requireProfile(input: Input, context: Context): InstanceProfile {
  const name = requiredName(input, 'InstanceProfileName', INSTANCE_PROFILE_NAME_LIMIT);
  const profile = context.account.instanceProfiles.get(name);
  if (profile === undefined) throw iamErrors.noSuchEntity(`Instance Profile ${name} cannot be found.`);
  return profile;
}

function create(input: Input, context: Context): Output {
  const { account, now, state } = context;
  const name = requiredName(input, 'InstanceProfileName', INSTANCE_PROFILE_NAME_LIMIT);
  const path = optionalPath(input);
  if (account.instanceProfiles.has(name)) {
    throw iamErrors.entityAlreadyExists(`Instance Profile ${name} already exists.`);
  }
  const profile: InstanceProfile = {
    name,
    path,
    arn: `arn:${account.partition}:iam::${account.id}:instance-profile${path}${name}`,
    id: state.env.id('AIPA', 21),
    createdAt: now,
    roles: [],
  };
  account.instanceProfiles.set(name, profile);
  return { InstanceProfile: view(profile) };
}

function addRole(input: Input, context: Context): Output {
  const profile = requireProfile(input, context);
  const role = roleForWrite(input, context);
  if (profile.roles.length > 0) {
    throw iamErrors.limitExceeded('Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1');
  }
  profile.roles = [role.name];
  return {};
}

function removeRole(input: Input, context: Context): Output {
  const profile = requireProfile(input, context);
  const name = requiredName(input, 'RoleName', ROLE_NAME_LIMIT);
  profile.roles = profile.roles.filter((role) => role.toLowerCase() !== name.toLowerCase());
  return {};
}

function listForRole(input: Input, context: Context): Output {
  const { role } = roleForRead(input, context);
  const holding = [...context.account.instanceProfiles.values()].filter(({ roles }) => roles.includes(role.name));
  const { items, paging } = page(input, holding);
  return { InstanceProfiles: items.map(view), ...paging };
}

const resource = (input: Input, context: Context): string =>
  `arn:${context.account.partition}:iam::${context.account.id}:instance-profile/${optionalString(input, 'InstanceProfileName') ?? '*'}`;

export const instanceProfileOperations: Operations = {
  CreateInstanceProfile: { resource, run: create, mutates: true },
  AddRoleToInstanceProfile: { resource, run: addRole, mutates: true },
  RemoveRoleFromInstanceProfile: { resource, run: removeRole, mutates: true },
  ListInstanceProfilesForRole: { resource: roleResource, run: listForRole, mutates: false },
};
