import type { RawObject, RawWatchEvent } from '../envtest/clients/api.ts';
import { type AwsSnapshot, StatusChecker, findCondition } from '../grid/status-checker.ts';

/** The EKS status of each Fargate profile of one EKS cluster at one moment, by profile name. */
export type ProfileStatuses = ReadonlyMap<string, string>;

/**
 * Finds the name and the state of a Fargate profile in a message such as `EKS changes only one Fargate profile of a
 * cluster at a time, and Fargate profile "x" is being deleted.`
 */
const PROFILE_AHEAD = /, and Fargate profile "(.+)" is ([^.]+)\./;
/**
 * The EKS status of a Fargate profile, by the words that describe this status in a condition message with the reason
 * WaitingForSibling. If the message contains none of these words, the test checks only that the Fargate profile in the
 * message has existed.
 */
const STATUS_OF: Readonly<Record<string, string>> = { 'being created': 'CREATING', 'being deleted': 'DELETING' };
/** The reasons that the Deleting condition may have when nothing fails except that the test kills the manager. */
const ALLOWED_REASONS: ReadonlySet<string> = new Set(['DeletingProfile', 'WaitingForSibling']);

/**
 * Checks the conditions of an AWSFargateProfile during the deletion of its cluster: makes all checks of the class
 * {@link StatusChecker}, and additional checks of the deletion.
 */
export class DeletionChecker {
  readonly checker = new StatusChecker();
  readonly #profileName: string;
  readonly #violations = new Set<string>();
  readonly #snapshots: ProfileStatuses[] = [];
  /**
   * Index in `#snapshots` of the AWS snapshot that was the newest when the previous version of the AWSFargateProfile
   * arrived.
   */
  #snapshotsBefore = 0;

  constructor(profileName: string) {
    this.#profileName = profileName;
  }

  /** The contradictions between the AWSFargateProfile and AWS, each only once. */
  get violations(): readonly string[] {
    return [...this.checker.violations, ...this.#violations];
  }

  /** The newest version of the AWSFargateProfile; `undefined` while the AWSFargateProfile does not exist. */
  get latest(): RawObject | undefined {
    return this.checker.latest;
  }

  /** Records a state of AWS. The caller must call this whenever AWS may have changed. */
  recordAws(statuses: ProfileStatuses, own: AwsSnapshot): void {
    this.#snapshots.push(statuses);
    this.checker.recordAws(own);
  }

  /**
   * Checks one version of the AWSFargateProfile. `now` has the AWS resources that exist when this version arrives. For
   * the watch event `DELETED`, `now` has only those that are left although the manager should have deleted them.
   */
  checkVersion(event: Pick<RawWatchEvent, 'type' | 'object'>, now: AwsSnapshot): void {
    const before = this.checker.latest;
    this.checker.checkVersion(event, now);
    const { object, type } = event;
    if (type !== 'DELETED' && JSON.stringify(object.status) !== JSON.stringify(before?.status)) {
      const since = this.#snapshots.slice(this.#snapshotsBefore);
      for (const error of findDeletionErrors(object, this.#profileName, since, this.#snapshots)) {
        this.#violations.add(`version ${object.metadata.resourceVersion}: ${error}`);
      }
    }
    this.#snapshotsBefore = Math.max(this.#snapshots.length - 1, 0);
  }
}

/**
 * Returns the errors in the conditions of one version of an AWSFargateProfile that is being deleted.
 * @param since the AWS states since the previous version of the AWSFargateProfile, to check what the conditions say
 * about its own Fargate profile
 * @param ever all AWS states so far, to check what the conditions say about other Fargate profiles of the cluster,
 * whose status the manager knows only from its latest poll
 */
export function findDeletionErrors(
  object: RawObject,
  profileName: string,
  since: readonly ProfileStatuses[],
  ever: readonly ProfileStatuses[],
): readonly string[] {
  const deleting = findCondition(object, 'Deleting');
  // A deletion increments the generation of the object, so a condition with an older observedGeneration was written
  // before the deletion.
  if (deleting === undefined || deleting.observedGeneration !== object.metadata.generation) return [];
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  const statusOf = (type: string): string | undefined => findCondition(object, type)?.status;
  if (deleting.status !== (isDeleting ? 'True' : 'False')) {
    return [`Deleting is ${deleting.status}, but the object is ${isDeleting ? '' : 'not '}being deleted`];
  }
  if (!isDeleting) return [];
  const { reason = '', message = '' } = deleting;
  const was = (snapshots: readonly ProfileStatuses[], name: string, status?: string): boolean =>
    snapshots.some((statuses) => (status === undefined ? statuses.has(name) : statuses.get(name) === status));
  const [, ahead = '', doing = ''] = PROFILE_AHEAD.exec(message) ?? [];
  return [
    ...(statusOf('Ready') === 'False' ? [] : [`Ready is ${statusOf('Ready')} during a deletion`]),
    ...(statusOf('Stalled') === 'False' ? [] : [`Stalled is ${statusOf('Stalled')}, but no user action is needed`]),
    ...(statusOf('Reconciling') === 'True' ? [] : [`Reconciling is ${statusOf('Reconciling')} during a deletion`]),
    ...(ALLOWED_REASONS.has(reason) ? [] : [`the deletion waits for ${reason}: ${message}`]),
    // The manager sets the reason DeletingProfile just before it sends DeleteFargateProfile. So at least one AWS state
    // since the previous version of the AWSFargateProfile must contain the Fargate profile.
    ...(reason === 'DeletingProfile' && !was(since, profileName) ? ['its profile was already deleted'] : []),
    ...(reason === 'WaitingForSibling' && !was(ever, ahead, STATUS_OF[doing])
      ? [`no such profile is ahead: ${message}`]
      : []),
  ];
}
