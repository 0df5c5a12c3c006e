import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Description, SpecChangeable } from './entry.ts';
import {
  MINUTE,
  REPLACE_OBJECT,
  RETRIES,
  SECOND,
  defineReason,
  listed,
  pollDoubling,
  pollForUserAction,
  pollProfile,
  quoted,
} from './entry.ts';

const eks = { part: 'EKSFargateProfileReady' } as const;

type Named = { readonly name: string };

/** A health issue of a Fargate profile, as EKS reports it. */
export type ReportedIssue = {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
};

/** Returns the messages of EKS about the health issues of a Fargate profile. A caller adds the full stop. */
export const describeIssues = (issues: readonly ReportedIssue[]): string =>
  issues.length === 0
    ? 'EKS gives no reason'
    : `EKS says: ${issues
        .map(({ code, message, resourceIds }) =>
          resourceIds.length === 0 ? `${code}: ${message}` : `${code}: ${message} (resources: ${listed(resourceIds)})`,
        )
        .join('; ')}`;

const remedyForIssues = (issues: readonly ReportedIssue[]): string =>
  issues.length === 0 ? 'Ask AWS Support for the reason' : 'Correct the problem that EKS names';

/**
 * `successor` is the name of the Fargate profile that the controller creates after the deletion. It may be the same
 * name.
 */
type Succeeded = Named & { readonly successor?: string };
const describeSuccessor = (name: string, successor: string): string =>
  successor === name ? 'creates it again according to the spec' : `creates Fargate profile ${quoted(successor)}`;

/**
 * The time after which a condition says that EKS takes unusually long to create or delete a Fargate profile. EKS
 * usually needs minutes. The controller never gives up, because only EKS can end a creation or deletion.
 */
const LATE_AFTER: Ms = 30 * MINUTE;
const late = <F>(describe: (facts: F) => string) => ({
  after: LATE_AFTER,
  describe: (facts: F) => `${describe(facts)} for more than 30 minutes. Usually EKS needs a few minutes`,
  remedy: () => 'Only EKS can end this: ask AWS Support for the cause. The controller waits',
});

/** Condition reasons about the Fargate profile in EKS. */
export const PROFILE_REASONS = {
  /**
   * `adoption` is the value of spec.adoptionPolicy with which the controller would adopt the profile. `obstacles` says
   * why the controller does not adopt the profile although spec.adoptionPolicy is `Always`.
   */
  ProfileNotOwned: defineReason<
    Named &
      SpecChangeable & {
        readonly whose: string;
        readonly adoption?: AdoptionPolicy;
        readonly obstacles?: readonly string[];
      }
  >({
    nature: 'human',
    ...eks,
    poll: pollForUserAction,
    endedBySibling: 'gone',
    describe: ({ name, whose, obstacles }) =>
      `Fargate profile ${quoted(name)} belongs to ${whose}. This controller does not change or delete it` +
      (obstacles === undefined
        ? ''
        : `, and does not adopt it because it differs from the spec: ${obstacles.join('; ')}`),
    remedy: ({ adoption, obstacles, isProvisioned = false }) => {
      const evade = isProvisioned ? REPLACE_OBJECT : 'Set spec.profileName to another name';
      if (obstacles !== undefined)
        return isProvisioned
          ? evade
          : `${evade}. Or change the spec to match the profile: then this controller adopts the profile`;
      return adoption === undefined
        ? `${evade}. If the existing profile is deleted in AWS, this controller creates a profile with this name`
        : `${evade}. Or set spec.adoptionPolicy to ${adoption}: then this controller adopts the profile`;
    },
  }),
  SpecDiffers: defineReason<Named & SpecChangeable & { readonly fields: readonly string[] }>({
    nature: 'human',
    ...eks,
    poll: pollForUserAction,
    describe: ({ name, fields }) =>
      `Fargate profile ${quoted(name)} differs from the spec, and EKS cannot change these fields of a profile: ${fields.join('; ')}`,
    remedy: ({ isProvisioned = false }) =>
      isProvisioned
        ? `${REPLACE_OBJECT}; unless spec.deletionPolicy is Retain, this deletes the profile. Until then the controller leaves the profile as it is`
        : 'Change the spec to match the profile. Or delete this object and create it again; unless spec.deletionPolicy is Retain, this deletes the profile and creates a new one. Until then the controller leaves the profile as it is',
  }),
  /**
   * `ahead` is the name of the Fargate profile that EKS is changing. `doing` completes the sentence "Fargate profile x
   * is …".
   */
  WaitingForSibling: defineReason<{ readonly ahead: string; readonly doing: string; readonly isUnverified: boolean }>({
    nature: 'wait',
    ...eks,
    // If this process polls the Fargate profile that EKS is changing, the end of that change wakes the waiting object,
    // so the delay may be long. Otherwise (`isUnverified`) the waiting object has to poll itself.
    poll: (_waited, { isUnverified }) => (isUnverified ? 5 * SECOND : 30 * SECOND),
    describe: ({ ahead, doing }) =>
      `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${quoted(ahead)} is ${doing}`,
    remedy: () => 'The controller waits, and then continues with the profile of this object on its own',
  }),
  /** `remaining` is the time for which the controller still sends EKS no change of this cluster. */
  ClusterUpdating: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    ...eks,
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster }) =>
      `EKS cluster ${quoted(cluster)} is not ACTIVE, so EKS accepts no change of its Fargate profiles. Usually the cluster is being updated`,
    remedy: () => `If EKS shows the status FAILED for the cluster, repair the cluster. ${RETRIES}`,
  }),
  QuotaExceeded: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    endedBySibling: 'gone',
    describe: ({ detail }) => `EKS allows no more Fargate profiles in this EKS cluster. EKS says: ${detail}`,
    remedy: () =>
      `Delete a Fargate profile of this EKS cluster that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
  Creating: defineReason<Named>({
    nature: 'wait',
    ...eks,
    poll: pollProfile,
    describe: ({ name }) => `EKS is creating Fargate profile ${quoted(name)}`,
    late: late(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  DeletingProfile: defineReason<Succeeded>({
    nature: 'wait',
    ...eks,
    poll: pollProfile,
    describe: ({ name, successor }) =>
      `EKS is deleting Fargate profile ${quoted(name)}` +
      (successor === undefined ? '' : `; then the controller ${describeSuccessor(name, successor)}`),
    late: late(({ name }) => `EKS has been deleting Fargate profile ${quoted(name)}`),
  }),
  WaitingForCreate: defineReason<Succeeded>({
    nature: 'wait',
    ...eks,
    poll: pollProfile,
    describe: ({ name, successor }) =>
      successor === undefined
        ? `EKS is still creating Fargate profile ${quoted(name)} and cannot delete it yet; the controller deletes it afterwards`
        : `EKS is still creating Fargate profile ${quoted(name)} from an older spec; then the controller deletes it and ${describeSuccessor(name, successor)}`,
    late: late(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  CreateFailed: defineReason<Named & { readonly issues: readonly ReportedIssue[] }>({
    nature: 'retry',
    ...eks,
    poll: pollDoubling(10 * SECOND, 10 * MINUTE),
    describe: ({ name, issues }) => `EKS failed to create Fargate profile ${quoted(name)}. ${describeIssues(issues)}`,
    remedy: ({ issues }) =>
      `${remedyForIssues(issues)}. The controller retries on its own: it deletes the failed profile and creates it again`,
  }),
  DeleteFailed: defineReason<Named & { readonly issues: readonly ReportedIssue[] }>({
    nature: 'retry',
    ...eks,
    poll: pollDoubling(10 * SECOND, 10 * MINUTE),
    describe: ({ name, issues }) => `EKS failed to delete Fargate profile ${quoted(name)}. ${describeIssues(issues)}`,
    remedy: ({ issues }) => `${remedyForIssues(issues)}. The controller retries the deletion on its own`,
  }),
  UnknownProfileStatus: defineReason<Named & { readonly status: string }>({
    nature: 'wait',
    ...eks,
    poll: pollProfile,
    describe: ({ name, status }) =>
      `Fargate profile ${quoted(name)} has the EKS status ${status}, which this version of the controller does not know`,
    remedy: () =>
      'If the status stays, use a newer version of the controller. Until the status changes, the controller does not change the profile',
  }),
} as const;
