import type { Condition, KubeObject, WatchEvent } from '../envtest/api.ts';
import { EKS_POLICY } from '../world/from-capa.ts';

/** What is in AWS of one object at some moment. */
export interface Sight {
  readonly profile?: { readonly arn: string; readonly status: string };
  readonly role?: { readonly id: string; readonly attachedPolicies: readonly string[] };
}

/**
 * Sees each version of an object and, beside it, what is in AWS, and notes where the object says what is not so.
 *
 * A version is judged by what was in AWS since the version before it: the manager writes what it was told a moment ago,
 * and AWS may have gone on since.
 */
export class Witness {
  readonly #findings = new Set<string>();
  readonly #versions: KubeObject[] = [];
  readonly #roleIds = new Set<string>();
  readonly #sights: Sight[] = [];
  /** How many sights there were when the version before came. */
  #seenBefore = 0;
  #isGone = false;

  /** Each lie once, in the order in which they were told. */
  get findings(): readonly string[] {
    return [...this.#findings];
  }

  get versions(): readonly KubeObject[] {
    return this.#versions;
  }

  /** The object as it is now; `undefined` before its first version, and after its last. */
  get latest(): KubeObject | undefined {
    return this.#isGone ? undefined : this.#versions.at(-1);
  }

  /** The reasons for which a condition has ever been True. */
  reasonsOf(type: string): readonly string[] {
    const said = this.#versions.map((version) => conditionOf(version, type));
    return [...new Set(said.flatMap((each) => (each?.status === 'True' ? [each.reason ?? ''] : [])))].toSorted();
  }

  /** To be told whenever something may have changed in AWS. */
  saw(sight: Sight): void {
    this.#sights.push(sight);
    if (sight.role !== undefined) this.#roleIds.add(sight.role.id);
  }

  /** To be told of each version as it comes, with what is in AWS at that moment. */
  told({ type, object }: Pick<WatchEvent, 'type' | 'object'>, now: Sight): void {
    this.saw(now);
    if (type === 'DELETED') {
      this.#isGone = true;
      if (now.profile !== undefined) this.#note(object, `the object was let go with its profile ${now.profile.status}`);
      if (now.role !== undefined) this.#note(object, 'the object was let go with its role in AWS');
    } else {
      this.#isGone = false;
      const before = this.#versions.at(-1);
      this.#checkShape(object, before?.metadata.uid === object.metadata.uid ? before : undefined);
      // Somebody else's write repeats what status said before: no new claim.
      if (JSON.stringify(object.status) !== JSON.stringify(before?.status)) {
        this.#checkClaims(object, before, this.#sights.slice(this.#seenBefore));
      }
    }
    this.#versions.push(object);
    this.#seenBefore = this.#sights.length - 1;
  }

  #checkShape(object: KubeObject, before: KubeObject | undefined): void {
    const { generation = 0, deletionTimestamp } = object.metadata;
    const statusOf = (type: string): string | undefined => conditionOf(object, type)?.status;
    if (statusOf('Stalled') === 'True' && statusOf('Reconciling') === 'True') {
      this.#note(object, 'Stalled and Reconciling are both True');
    }
    if (statusOf('Ready') === 'True' && statusOf('Stalled') === 'True') {
      this.#note(object, 'Ready and Stalled are both True');
    }
    const isAtWork = ['Reconciling', 'Stalled', 'Paused'].some((type) => statusOf(type) === 'True');
    if (statusOf('Ready') === 'False' && !isAtWork) {
      this.#note(object, 'Ready is False, and nobody is at it: neither Reconciling nor Stalled is True');
    }
    if (statusOf('Deleting') === 'True' && deletionTimestamp === undefined) {
      this.#note(object, 'Deleting is True of an object that is not being deleted');
    }
    if (statusOf('Ready') !== undefined && (object.status?.['ready'] === true) !== (statusOf('Ready') === 'True')) {
      this.#note(object, `status.ready is ${String(object.status?.['ready'])} while Ready is ${statusOf('Ready')}`);
    }
    const [observed, observedBefore] = [observedGenerationOf(object), before && observedGenerationOf(before)];
    if (observed > generation)
      this.#note(object, `observedGeneration ${observed} is ahead of generation ${generation}`);
    if (observedBefore !== undefined && observed < observedBefore) {
      this.#note(object, `observedGeneration went back from ${observedBefore} to ${observed}`);
    }
    for (const { type, observedGeneration = 0 } of object.status?.conditions ?? []) {
      if (observedGeneration > generation) this.#note(object, `${type} is ahead of generation ${generation}`);
    }
    if (before !== undefined && isProvisioned(before) && !isProvisioned(object)) {
      this.#note(object, 'initialization.provisioned was taken back');
    }
  }

  #checkClaims(object: KubeObject, before: KubeObject | undefined, sights: readonly Sight[]): void {
    const statuses = sights.map(({ profile }) => profile?.status ?? 'absent');
    const wasSeen = `in AWS since the version before: ${[...new Set(statuses)].join(', ')}`;
    const isActive = statuses.includes('ACTIVE');
    if (conditionOf(object, 'Ready')?.status === 'True' && !isActive) {
      this.#note(object, `Ready is True without ACTIVE (${wasSeen})`);
    }
    if (conditionOf(object, 'EKSFargateProfileReady')?.status === 'True' && !isActive) {
      this.#note(object, `EKSFargateProfileReady is True without ACTIVE (${wasSeen})`);
    }
    if (isProvisioned(object) && (before === undefined || !isProvisioned(before)) && !isActive) {
      this.#note(object, `initialization.provisioned was set without ACTIVE (${wasSeen})`);
    }
    const hadItsPolicy = sights.some((sight) => sight.role?.attachedPolicies.includes(EKS_POLICY) === true);
    const saysRole = (version: KubeObject | undefined): boolean =>
      version !== undefined && conditionOf(version, 'IAMFargateRolesReady')?.status === 'True';
    // What was so is believed for a while when AWS cannot be asked; what was not is not.
    if (saysRole(object) && !saysRole(before) && !hadItsPolicy) {
      this.#note(object, 'IAMFargateRolesReady became True without a role that has its policy');
    }
    const { profileStatus, profileARN, role } = object.status ?? {};
    if (typeof profileStatus === 'string' && !statuses.includes(profileStatus)) {
      this.#note(object, `status.profileStatus is ${profileStatus} (${wasSeen})`);
    }
    if (typeof profileARN === 'string' && !sights.some(({ profile }) => profile?.arn === profileARN)) {
      this.#note(object, `status.profileARN is of no profile (${wasSeen})`);
    }
    const roleId = typeof role === 'object' && role !== null && 'id' in role ? role.id : undefined;
    if (typeof roleId === 'string' && !this.#roleIds.has(roleId)) this.#note(object, 'status.role.id is of no role');
  }

  #note({ metadata }: KubeObject, words: string): void {
    this.#findings.add(`version ${metadata.resourceVersion}: ${words}`);
  }
}

export const conditionOf = ({ status }: KubeObject, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** -1 before the first pass, as the CRD has it. */
function observedGenerationOf({ status }: KubeObject): number {
  const observed = status?.['observedGeneration'];
  return typeof observed === 'number' ? observed : -1;
}

function isProvisioned({ status }: KubeObject): boolean {
  const initialization = status?.['initialization'];
  return (
    typeof initialization === 'object' &&
    initialization !== null &&
    'provisioned' in initialization &&
    initialization.provisioned === true
  );
}
