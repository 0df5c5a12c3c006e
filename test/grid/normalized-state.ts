import type { ProfileView, RoleView } from '../aws/admin/views.ts';
import type { GridSubject } from './subject.ts';

/**
 * An AWSFargateProfile and its AWS resources, without the names, accounts, ids and times, which differ from one test
 * case to another.
 */
export interface NormalizedState {
  readonly profiles: readonly unknown[];
  readonly roles: readonly unknown[];
  readonly accessEntries: readonly unknown[];
  /** Whether new pods of the Fargate profile can join the EKS cluster. */
  readonly canPodsJoin: boolean;
  /** AWS resources that the manager does not own. */
  readonly ofStrangers: { readonly profiles: readonly unknown[]; readonly roles: readonly unknown[] };
  readonly object: unknown;
}

export function normalize(subject: GridSubject): NormalizedState {
  const { profiles, roles, accessEntries } = subject.ownResources();
  const { object } = subject;
  const {
    createRequestedAt: _at,
    activeSince: _since,
    subnets: _subnets,
    role,
    conditions = [],
    ...status
  } = object?.status ?? {};
  const foreign = subject.foreignResources();
  const raw = {
    profiles: profiles.map(normalizeProfile),
    roles: roles.map(normalizeRole),
    accessEntries: accessEntries.map(({ principalArn, type }) => ({ principalArn, type })),
    canPodsJoin: profiles.length > 0 && subject.canPodsJoin(),
    ofStrangers: { profiles: foreign.profiles.map(normalizeProfile), roles: foreign.roles.map(normalizeRole) },
    object: object && {
      generation: object.metadata.generation,
      finalizers: object.metadata.finalizers,
      status,
      role: typeof role === 'object' && role !== null ? { ...role, id: undefined } : role,
      conditions: conditions.map(({ lastTransitionTime: _changed, ...condition }) => condition),
    },
  };
  const text = JSON.stringify(raw, sortedKeys)
    .replaceAll(subject.id, 'CELL')
    .replaceAll(subject.account, 'ACCOUNT')
    .replaceAll(UUID, 'UUID')
    .replaceAll(ROLE_ID, 'ROLE-ID')
    .replaceAll(DERIVED_NAME, '$<base>-SPEC')
    .replaceAll(TIME, 'TIME');
  return JSON.parse(text) as NormalizedState;
}

const normalizeProfile = ({ arn: _arn, createdAt: _created, subnets, ...profile }: ProfileView): object => ({
  ...profile,
  subnets: subnets.length,
});

const normalizeRole = ({ id: _id, createdAt: _created, attachedPolicies, ...role }: RoleView): object => ({
  ...role,
  attachedPolicies: attachedPolicies.toSorted(),
});

const UUID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;
/** The name of a replacing profile has a hash of the spec, in which the role's ARN has the names of the test case. */
const DERIVED_NAME = /(?<base>CELL_\w+)-[\da-f]{8}/g;
const ROLE_ID = /AROA[\dA-Z]{17}/g;

const TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/g;

/** Sorts the members of each JSON object by key, because their order has no meaning. */
const sortedKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * Lists the lines that only one of the two states has, as in a diff: `-` for a line of the wanted state, `+` for a line
 * of the found state.
 */
export function diffStates(found: unknown, wanted: unknown): readonly string[] {
  const [are, should] = [found, wanted].map((each) => JSON.stringify(each, undefined, 1).split('\n'));
  const missing = (should ?? []).filter((line) => are?.includes(line) !== true);
  const surplus = (are ?? []).filter((line) => should?.includes(line) !== true);
  return [...missing.map((line) => `- ${line.trim()}`), ...surplus.map((line) => `+ ${line.trim()}`)];
}
