import type { EmulatedRole, RoleVersion } from '../resources.ts';

/** Returns the version that the role had `lagMs` milliseconds before `now`; undefined: the role did not exist then. */
export function versionVisibleAfter(role: EmulatedRole, lagMs: number, now: number): RoleVersion | undefined {
  return role.versions.findLast(({ since }) => since + lagMs <= now);
}

export function currentVersion(role: EmulatedRole): RoleVersion {
  const version = role.versions.at(-1);
  if (version === undefined) throw new Error(`role ${role.name} has no version`);
  return version;
}
