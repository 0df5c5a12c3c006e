import type { RawCondition, RawObject, RawWatchEvent } from '../envtest/clients/api.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';

/** The Fargate profiles and the IAM roles of one AWSFargateProfile at one moment: several during a replacement. */
export interface AwsSnapshot {
  readonly profiles: readonly { readonly arn: string; readonly status: string }[];
  readonly roles: readonly { readonly id: string; readonly attachedPolicies: readonly string[] }[];
}

/**
 * Collects the contradictions in each version of an AWSFargateProfile, and between each version and AWS. A version may
 * describe any state that AWS has had since the previous version of the AWSFargateProfile, because AWS can change
 * between the manager's read from AWS and its write of the status.
 */
export class StatusChecker {
  readonly #violations = new Set<string>();
  readonly #versions: RawObject[] = [];
  readonly #roleIds = new Set<string>();
  readonly #snapshots: AwsSnapshot[] = [];
  /**
   * Index in `#snapshots` of the AWS snapshot that was the newest when the previous version of the AWSFargateProfile
   * arrived.
   */
  #snapshotsBefore = 0;
  #isGone = false;

  /**
   * The contradictions in the AWSFargateProfile, and between the AWSFargateProfile and AWS, each only once, in the
   * order in which they first occurred.
   */
  get violations(): readonly string[] {
    return [...this.#violations];
  }

  get versions(): readonly RawObject[] {
    return this.#versions;
  }

  /** The newest version of the AWSFargateProfile; `undefined` while the AWSFargateProfile does not exist. */
  get latest(): RawObject | undefined {
    return this.#isGone ? undefined : this.#versions.at(-1);
  }

  /** Returns each reason that the condition of the given type has had while it was True, in alphabetical order. */
  reasonsWhileTrue(type: string): readonly string[] {
    const conditions = this.#versions.map((version) => findCondition(version, type));
    return [...new Set(conditions.flatMap((each) => (each?.status === 'True' ? [each.reason ?? ''] : [])))].toSorted();
  }

  /** Records a state of AWS. The caller must call this whenever AWS may have changed. */
  recordAws(snapshot: AwsSnapshot): void {
    this.#snapshots.push(snapshot);
    for (const { id } of snapshot.roles) this.#roleIds.add(id);
  }

  /** Checks one version of the AWSFargateProfile. `now`: the state of AWS at the moment when the version arrived. */
  checkVersion({ type, object }: Pick<RawWatchEvent, 'type' | 'object'>, now: AwsSnapshot): void {
    this.recordAws(now);
    if (type === 'DELETED') {
      this.#isGone = true;
      for (const { status } of now.profiles)
        this.#report(object, `the object was deleted while its profile was ${status}`);
      if (now.roles.length > 0) this.#report(object, 'the object was deleted while its role existed');
    } else {
      this.#isGone = false;
      const before = this.#versions.at(-1);
      this.#checkConsistency(object, before?.metadata.uid === object.metadata.uid ? before : undefined);
      // If the status is unchanged, the version comes from a write to other fields of the AWSFargateProfile, and says
      // nothing new about AWS.
      if (JSON.stringify(object.status) !== JSON.stringify(before?.status)) {
        this.#checkStatus(object, before, this.#snapshots.slice(this.#snapshotsBefore));
      }
    }
    this.#versions.push(object);
    this.#snapshotsBefore = this.#snapshots.length - 1;
  }

  #checkConsistency(object: RawObject, before: RawObject | undefined): void {
    const { generation = 0, deletionTimestamp } = object.metadata;
    const statusOf = (type: string): string | undefined => findCondition(object, type)?.status;
    if (statusOf('Stalled') === 'True' && statusOf('Reconciling') === 'True') {
      this.#report(object, 'Stalled and Reconciling are both True');
    }
    if (statusOf('Ready') === 'True' && statusOf('Stalled') === 'True') {
      this.#report(object, 'Ready and Stalled are both True');
    }
    const isAtWork = ['Reconciling', 'Stalled', 'Paused'].some((type) => statusOf(type) === 'True');
    if (statusOf('Ready') === 'False' && !isAtWork) {
      this.#report(object, 'Ready is False, but neither Reconciling nor Stalled is True');
    }
    if (statusOf('Deleting') === 'True' && deletionTimestamp === undefined) {
      this.#report(object, 'Deleting is True without a deletion timestamp');
    }
    if (statusOf('Ready') !== undefined && (object.status?.['ready'] === true) !== (statusOf('Ready') === 'True')) {
      this.#report(object, `status.ready is ${String(object.status?.['ready'])} while Ready is ${statusOf('Ready')}`);
    }
    const [observed, observedBefore] = [observedGenerationOf(object), before && observedGenerationOf(before)];
    if (observed > generation)
      this.#report(object, `observedGeneration ${observed} is ahead of generation ${generation}`);
    if (observedBefore !== undefined && observed < observedBefore) {
      this.#report(object, `observedGeneration went back from ${observedBefore} to ${observed}`);
    }
    for (const { type, observedGeneration = 0 } of object.status?.conditions ?? []) {
      if (observedGeneration > generation) this.#report(object, `${type} is ahead of generation ${generation}`);
    }
    if (before !== undefined && isProvisioned(before) && !isProvisioned(object)) {
      this.#report(object, 'initialization.provisioned was removed');
    }
  }

  #checkStatus(object: RawObject, before: RawObject | undefined, snapshots: readonly AwsSnapshot[]): void {
    const statuses = snapshots.flatMap(({ profiles }) =>
      profiles.length === 0 ? ['absent'] : profiles.map(({ status }) => status),
    );
    const wasSeen = `in AWS since the previous version: ${[...new Set(statuses)].join(', ')}`;
    const isActive = statuses.includes('ACTIVE');
    if (findCondition(object, 'Ready')?.status === 'True' && !isActive) {
      this.#report(object, `Ready is True without ACTIVE (${wasSeen})`);
    }
    if (findCondition(object, 'EKSFargateProfileReady')?.status === 'True' && !isActive) {
      this.#report(object, `EKSFargateProfileReady is True without ACTIVE (${wasSeen})`);
    }
    if (isProvisioned(object) && (before === undefined || !isProvisioned(before)) && !isActive) {
      this.#report(object, `initialization.provisioned was set without ACTIVE (${wasSeen})`);
    }
    const hadPolicy = snapshots.some(({ roles }) =>
      roles.some(({ attachedPolicies }) => attachedPolicies.includes(EKS_POLICY)),
    );
    const isRoleReady = (version: RawObject | undefined): boolean =>
      version !== undefined && findCondition(version, 'IAMFargateRolesReady')?.status === 'True';
    // While AWS cannot be read, the manager does not change the condition IAMFargateRolesReady. So the test checks this
    // condition only when it changes to True.
    if (isRoleReady(object) && !isRoleReady(before) && !hadPolicy) {
      this.#report(object, 'IAMFargateRolesReady became True without a role that has its policy');
    }
    const { profileStatus, profileARN, role } = object.status ?? {};
    if (typeof profileStatus === 'string' && !statuses.includes(profileStatus)) {
      this.#report(object, `status.profileStatus is ${profileStatus} (${wasSeen})`);
    }
    if (
      typeof profileARN === 'string' &&
      !snapshots.some(({ profiles }) => profiles.some(({ arn }) => arn === profileARN))
    ) {
      this.#report(object, `status.profileARN names no profile (${wasSeen})`);
    }
    const roleId = typeof role === 'object' && role !== null && 'id' in role ? role.id : undefined;
    if (typeof roleId === 'string' && !this.#roleIds.has(roleId)) this.#report(object, 'status.role.id names no role');
  }

  #report({ metadata }: RawObject, words: string): void {
    this.#violations.add(`version ${metadata.resourceVersion}: ${words}`);
  }
}

export const findCondition = ({ status }: RawObject, type: string): RawCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** Returns status.observedGeneration. Before the first reconcile it is -1, as the default in the CRD says. */
function observedGenerationOf({ status }: RawObject): number {
  const observed = status?.['observedGeneration'];
  return typeof observed === 'number' ? observed : -1;
}

function isProvisioned({ status }: RawObject): boolean {
  const initialization = status?.['initialization'];
  return (
    typeof initialization === 'object' &&
    initialization !== null &&
    'provisioned' in initialization &&
    initialization.provisioned === true
  );
}
