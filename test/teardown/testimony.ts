import type { KubeObject, WatchEvent } from '../envtest/api.ts';
import { Witness, conditionOf } from '../grid/witness.ts';
import type { Sight } from '../grid/witness.ts';

/** The profiles of an EKS cluster at some moment, by name, with their statuses. One that is gone is not in it. */
export type Statuses = ReadonlyMap<string, string>;

/** `EKS changes one Fargate profile of a cluster at a time; ahead of this one: "x" (being deleted)`. */
const AHEAD = /ahead of this one: "(.+)" \((.+)\)/;
/** What EKS says of a profile that is ahead for this reason; of another only that it is not gone. */
const STATUS_OF: Readonly<Record<string, string>> = { 'being created': 'CREATING', 'being deleted': 'DELETING' };
/** What a deletion may be waiting for where nothing but the manager's death goes wrong. */
const WAITS: ReadonlySet<string> = new Set(['DeletingProfile', 'WaitingForSibling']);

/**
 * Hears what an object says of itself in the teardown of its cluster and notes what is not so: what the {@link Witness}
 * notes of any object, and of its deletion.
 */
export class Testimony {
  readonly witness = new Witness();
  readonly #profileName: string;
  readonly #findings = new Set<string>();
  readonly #sights: Statuses[] = [];
  /** How many sights there were when the version before came. */
  #seenBefore = 0;

  constructor(profileName: string) {
    this.#profileName = profileName;
  }

  /** Each lie once. */
  get findings(): readonly string[] {
    return [...this.witness.findings, ...this.#findings];
  }

  /** `undefined`: it is not there (any more). */
  get latest(): KubeObject | undefined {
    return this.witness.latest;
  }

  /** To be told whenever something may have changed in AWS. */
  saw(statuses: Statuses, own: Sight): void {
    this.#sights.push(statuses);
    this.witness.saw(own);
  }

  /** To be told of each version. `now`: what is in AWS, or, when the object is gone, what of that has to be gone too. */
  told(event: Pick<WatchEvent, 'type' | 'object'>, now: Sight): void {
    const before = this.witness.latest;
    this.witness.told(event, now);
    const { object, type } = event;
    if (type !== 'DELETED' && JSON.stringify(object.status) !== JSON.stringify(before?.status)) {
      const since = this.#sights.slice(this.#seenBefore);
      for (const lie of liesAboutDeletion(object, this.#profileName, since, this.#sights)) {
        this.#findings.add(`version ${object.metadata.resourceVersion}: ${lie}`);
      }
    }
    this.#seenBefore = Math.max(this.#sights.length - 1, 0);
  }
}

/**
 * What a version says of its deletion that is not so.
 * @param since what was in EKS since the version before: what it may say of its own profile
 * @param ever what ever was: of another profile it knows what that one's last poll has found
 */
export function liesAboutDeletion(
  object: KubeObject,
  profileName: string,
  since: readonly Statuses[],
  ever: readonly Statuses[],
): readonly string[] {
  const deleting = conditionOf(object, 'Deleting');
  // What was said of an earlier generation was said before the deletion: that raises the generation.
  if (deleting === undefined || deleting.observedGeneration !== object.metadata.generation) return [];
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  const said = (type: string): string | undefined => conditionOf(object, type)?.status;
  if (deleting.status !== (isDeleting ? 'True' : 'False')) {
    return [`Deleting is ${deleting.status}, and the object is ${isDeleting ? '' : 'not '}being deleted`];
  }
  if (!isDeleting) return [];
  const { reason = '', message = '' } = deleting;
  const was = (sights: readonly Statuses[], name: string, status?: string): boolean =>
    sights.some((statuses) => (status === undefined ? statuses.has(name) : statuses.get(name) === status));
  const [, ahead = '', doing = ''] = AHEAD.exec(message) ?? [];
  return [
    ...(said('Ready') === 'False' ? [] : [`Ready is ${said('Ready')} in a deletion`]),
    ...(said('Stalled') === 'False' ? [] : [`Stalled is ${said('Stalled')}, and nobody has to act`]),
    ...(said('Reconciling') === 'True' ? [] : [`Reconciling is ${said('Reconciling')} in a deletion`]),
    ...(WAITS.has(reason) ? [] : [`the deletion waits for ${reason}: ${message}`]),
    // It is said right before EKS is asked, so that it is so however late EKS answers.
    ...(reason === 'DeletingProfile' && !was(since, profileName) ? ['its profile was gone already'] : []),
    ...(reason === 'WaitingForSibling' && !was(ever, ahead, STATUS_OF[doing])
      ? [`nothing such is ahead: ${message}`]
      : []),
  ];
}
