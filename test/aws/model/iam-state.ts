import type { ModelEnv } from './env.ts';
import { current } from './role-visibility.ts';
import type { Account, Role, RoleVersion, Tags } from './state.ts';

// How many older versions of a role stay readable for lagging readers.
const versionsKept = 50;

export interface NewRole {
  readonly name: string;
  readonly path: string;
  readonly trustPolicy: string;
  readonly foreign: boolean;
  readonly description?: string;
  readonly maxSessionDuration?: number;
  readonly permissionsBoundary?: string;
  readonly tags?: Tags;
  readonly attachedPolicies?: readonly string[];
}

export function newRole(account: Account, env: ModelEnv, now: number, wanted: NewRole): Role {
  const role: Role = {
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
        maxSessionDuration: wanted.maxSessionDuration ?? 3600,
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

export function changeRole(role: Role, now: number, change: Partial<Omit<RoleVersion, 'since'>>): void {
  role.versions = [...role.versions, { ...current(role), ...change, since: now }].slice(-versionsKept);
}

export function withoutBoundary(role: Role, now: number): void {
  const { permissionsBoundary: _, ...rest } = current(role);
  role.versions = [...role.versions, { ...rest, since: now }].slice(-versionsKept);
}
