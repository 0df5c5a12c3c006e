import type { Role, RoleVersion } from './state.ts';

/** The role as a reader sees it whose view is `lagMs` old, or undefined when it does not see it yet. */
export function seenBy(role: Role, lagMs: number, now: number): RoleVersion | undefined {
  return role.versions.findLast(({ since }) => since + lagMs <= now);
}

/** The role as it is. */
export function current(role: Role): RoleVersion {
  const version = role.versions.at(-1);
  if (version === undefined) throw new Error(`role ${role.name} has no version`);
  return version;
}
