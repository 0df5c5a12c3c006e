import type { ProfileView, RoleView } from '../aws/views.ts';
import type { Cell } from './cell.ts';

/** How an object stands, without what differs from one cell to another: names, accounts, ids, times. */
export interface Comparable {
  readonly profiles: readonly unknown[];
  readonly roles: readonly unknown[];
  /** What is not ours, as it is told of what is. */
  readonly ofStrangers: { readonly profiles: readonly unknown[]; readonly roles: readonly unknown[] };
  readonly object: unknown;
}

export function comparable(cell: Cell): Comparable {
  const { profiles, roles } = cell.inAws();
  const { object } = cell;
  const { createRequestedAt: _at, subnets: _subnets, role, conditions = [], ...status } = object?.status ?? {};
  const others = cell.ofStrangers();
  const raw = {
    profiles: profiles.map(comparableProfile),
    roles: roles.map(comparableRole),
    ofStrangers: { profiles: others.profiles.map(comparableProfile), roles: others.roles.map(comparableRole) },
    object: object && {
      generation: object.metadata.generation,
      finalizers: object.metadata.finalizers,
      status,
      role: typeof role === 'object' && role !== null ? { ...role, id: undefined } : role,
      conditions: conditions.map(({ lastTransitionTime: _since, ...condition }) => condition),
    },
  };
  const text = JSON.stringify(raw, sortedKeys)
    .replaceAll(cell.id, 'CELL')
    .replaceAll(cell.account, 'ACCOUNT')
    .replaceAll(UUID, 'UUID')
    .replaceAll(ROLE_ID, 'ROLE-ID');
  return JSON.parse(text) as Comparable;
}

const comparableProfile = ({ arn: _arn, createdAt: _created, subnets, ...profile }: ProfileView): object => ({
  ...profile,
  subnets: subnets.length,
});

const comparableRole = ({ id: _id, createdAt: _created, attachedPolicies, ...role }: RoleView): object => ({
  ...role,
  attachedPolicies: attachedPolicies.toSorted(),
});

const UUID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;
const ROLE_ID = /AROA[\dA-Z]{17}/g;

/** The order in which members were set says nothing. */
const sortedKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** The lines that one has and the other has not, `-` and `+` as of a diff. */
export function differencesOf(found: Comparable, wanted: Comparable): readonly string[] {
  const [are, should] = [found, wanted].map((each) => JSON.stringify(each, undefined, 1).split('\n'));
  const missing = (should ?? []).filter((line) => are?.includes(line) !== true);
  const surplus = (are ?? []).filter((line) => should?.includes(line) !== true);
  return [...missing.map((line) => `- ${line.trim()}`), ...surplus.map((line) => `+ ${line.trim()}`)];
}
