import type { AdoptionPolicy } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { Words } from './reason-entry.ts';
import { MINUTE, SECOND, described, doubling, following, listed, quoted, slowly } from './reason-entry.ts';

const eks = { part: 'EKSFargateProfileReady' } as const;

type Named = { readonly name: string };

/** A health issue of EKS in one readable piece. */
export type Issue = { readonly code: string; readonly message: string; readonly resourceIds: readonly string[] };

const issueWords = (issues: readonly Issue[]): string =>
  issues.length === 0
    ? 'EKS gives no reason'
    : issues
        .map(({ code, message, resourceIds }) =>
          resourceIds.length === 0 ? `${code}: ${message}` : `${code}: ${message} (${listed(resourceIds)})`,
        )
        .join('; ');

const mend = (issues: readonly Issue[]): string =>
  issues.length === 0 ? 'AWS Support may know more' : 'Correct what EKS names';

/** A profile that makes way for the one that is wanted, of the same name or of another. */
type Succeeded = Named & { readonly successor?: string };
const next = (name: string, successor: string): string =>
  successor === name
    ? 'then it is created anew as the spec wants it'
    : `then ${quoted(successor)} is created as the spec wants it`;

/** EKS takes minutes; it is never given up, since nobody but EKS can end it. */
const LONG: Ms = 30 * MINUTE;
const tooLong = <F>(words: (facts: F) => string) => ({
  after: LONG,
  words: (facts: F) => `${words(facts)} for over half an hour, which takes minutes as a rule`,
  cure: () => 'Only EKS can end that, and it is waited for; AWS Support may know what holds it up',
});

/** What there is to say of the profile in EKS. */
export const PROFILE_REASONS = {
  /**
   * `adoption`: the spec.adoptionPolicy that would take it over; `obstacles`: why `Always` does not, where it is what the
   * spec says.
   */
  ProfileNotOwned: described<
    Named & { readonly whose: string; readonly adoption?: AdoptionPolicy; readonly obstacles?: readonly string[] }
  >({
    nature: 'human',
    ...eks,
    poll: slowly,
    endedBySibling: 'gone',
    words: ({ name, whose, obstacles }) =>
      `Fargate profile ${quoted(name)} exists already and belongs to ${whose}. It is left untouched` +
      (obstacles === undefined ? '' : `, since it is not what the spec wants: ${obstacles.join('; ')}`),
    cure: ({ adoption, obstacles }) => {
      if (obstacles !== undefined)
        return 'Choose another spec.profileName, or make the spec match the profile, which is then taken over';
      return adoption === undefined
        ? 'Choose another spec.profileName; should the profile go, its name is taken by itself'
        : `Choose another spec.profileName, or set spec.adoptionPolicy to ${adoption} to have the profile taken over`;
    },
  }),
  SpecDiffers: described<Named & { readonly fields: readonly string[] }>({
    nature: 'human',
    ...eks,
    poll: slowly,
    words: ({ name, fields }) =>
      `Fargate profile ${quoted(name)} differs from the spec in what EKS cannot change: ${fields.join('; ')}`,
    cure: () => 'Make the spec match the profile, or delete this object, and the profile with it, and create it anew',
  }),
  WaitingForSibling: described<{ readonly ahead: string; readonly doing: string; readonly foreign: boolean }>({
    nature: 'wait',
    ...eks,
    // One of ours wakes the next when it has ended; whoever else's it is has to be looked at.
    poll: (_waited, { foreign }) => (foreign ? 5 * SECOND : 30 * SECOND),
    words: ({ ahead, doing }) =>
      `EKS changes one Fargate profile of a cluster at a time; ahead of this one: ${quoted(ahead)} (${doing})`,
  }),
  /** `remaining`: how long nothing is tried. */
  ClusterUpdating: described<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    ...eks,
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    words: ({ cluster }) =>
      `EKS cluster ${quoted(cluster)} is being updated, or is not ACTIVE for another reason: EKS takes no change of its Fargate profiles until that is over`,
  }),
  QuotaExceeded: described<Words>({
    nature: 'wait',
    ...eks,
    poll: doubling(30 * SECOND, 5 * MINUTE),
    endedBySibling: 'gone',
    words: ({ words }) => `EKS allows no more Fargate profiles in this cluster: ${words}`,
    cure: () => 'Delete one that is not needed, or ask AWS to raise the quota; it is tried again by itself',
  }),
  Creating: described<Named>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name }) => `EKS is creating Fargate profile ${quoted(name)}`,
    late: tooLong(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  DeletingProfile: described<Succeeded>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name, successor }) =>
      `EKS is deleting Fargate profile ${quoted(name)}` + (successor === undefined ? '' : `; ${next(name, successor)}`),
    late: tooLong(({ name }) => `EKS has been deleting Fargate profile ${quoted(name)}`),
  }),
  WaitingForCreate: described<Succeeded>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name, successor }) =>
      successor === undefined
        ? `Fargate profile ${quoted(name)} is still being created; EKS deletes it only once that has ended`
        : `Fargate profile ${quoted(name)} is still being created as the spec was before; once that has ended it is deleted, and ${next(name, successor)}`,
    late: tooLong(({ name }) => `EKS has been creating Fargate profile ${quoted(name)}`),
  }),
  CreateFailed: described<Named & { readonly issues: readonly Issue[] }>({
    nature: 'retry',
    ...eks,
    poll: doubling(10 * SECOND, 10 * MINUTE),
    words: ({ name, issues }) => `EKS failed to create Fargate profile ${quoted(name)}: ${issueWords(issues)}`,
    cure: ({ issues }) => `${mend(issues)}; the profile is made anew by itself`,
  }),
  DeleteFailed: described<Named & { readonly issues: readonly Issue[] }>({
    nature: 'retry',
    ...eks,
    poll: doubling(10 * SECOND, 10 * MINUTE),
    words: ({ name, issues }) => `EKS failed to delete Fargate profile ${quoted(name)}: ${issueWords(issues)}`,
    cure: ({ issues }) => `${mend(issues)}; the deletion is tried again by itself`,
  }),
  UnknownProfileStatus: described<Named & { readonly status: string }>({
    nature: 'wait',
    ...eks,
    poll: following,
    words: ({ name, status }) =>
      `EKS gives Fargate profile ${quoted(name)} the status ${status}, which this version of the controller does not know`,
    cure: () => 'It is looked at again by itself; a later version may know what to do',
  }),
} as const;
