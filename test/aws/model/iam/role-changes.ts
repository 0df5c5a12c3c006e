import type { ModelEnv } from '../env.ts';
import { currentVersion } from './role-visibility.ts';
import type { EmulatedAccount, EmulatedRole, RoleVersion, TagMap } from '../resources.ts';

// The number of versions of a role that the AWS emulator keeps. IAM is eventually consistent, so a read can return an
// older version of a role.
const versionsKept = 50;

export interface RoleAttributes {
  readonly name: string;
  readonly path: string;
  readonly trustPolicy: string;
  readonly foreign: boolean;
  readonly description?: string;
  readonly permissionsBoundary?: string;
  readonly tags?: TagMap;
  readonly attachedPolicies?: readonly string[];
}

export function addRole(account: EmulatedAccount, env: ModelEnv, now: number, wanted: RoleAttributes): EmulatedRole {
  const role: EmulatedRole = {
    name: wanted.name,
    path: wanted.path,
    arn: `arn:${account.partition}:iam::${account.id}:role${wanted.path}${wanted.name}`,
    id: env.id('AROA', 21),
    createdAt: now,
    foreign: wanted.foreign,
    versions: [
      {
        since: now,
        trustPolicy: wanted.trustPolicy,
        description: wanted.description ?? '',
        ...(wanted.permissionsBoundary === undefined ? {} : { permissionsBoundary: wanted.permissionsBoundary }),
        tags: wanted.tags ?? {},
        attachedPolicies: wanted.attachedPolicies ?? [],
        inlinePolicies: {},
      },
    ],
  };
  account.roles.set(role.name.toLowerCase(), role);
  return role;
}

export function changeRole(role: EmulatedRole, now: number, change: Partial<Omit<RoleVersion, 'since'>>): void {
  role.versions = [...role.versions, { ...currentVersion(role), ...change, since: now }].slice(-versionsKept);
}

export function removeBoundary(role: EmulatedRole, now: number): void {
  const { permissionsBoundary: _, ...rest } = currentVersion(role);
  role.versions = [...role.versions, { ...rest, since: now }].slice(-versionsKept);
}
