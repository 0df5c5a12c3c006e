import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import type { StoredEvent } from 'controller-runtime/testing';
import { EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { conditionsOf } from './problems.ts';

/** The Fargate profiles and the IAM roles of one AWSFargateProfile at one moment: several during a replacement. */
export interface AwsSnapshot {
  readonly profiles: readonly { readonly arn: string; readonly status: string }[];
  readonly roles: readonly { readonly id: string; readonly attachedPolicies: readonly string[] }[];
}

/**
 * Collects the contradictions in each version of an AWSFargateProfile, and between each version and AWS. A version may
 * describe any state that AWS has had since the previous status, because AWS can change between the manager's read from
 * AWS and its write of the status.
 */
export class StatusChecker {
  private readonly found = new Set<string>();
  private readonly versions: KubeObject[] = [];
  private readonly roleIds = new Set<string>();
  /** The states of AWS since the previous status of the object, the one at that moment included. */
  private snapshots: AwsSnapshot[] = [];
  private isGone = false;

  /** Returns each contradiction once, in the order of first occurrence. */
  get violations(): readonly string[] {
    return [...this.found];
  }

  /** The newest version of the AWSFargateProfile; undefined while it does not exist. */
  get latest(): KubeObject | undefined {
    return this.isGone ? undefined : this.versions.at(-1);
  }

  /** Returns each reason that the condition of the given type had while it was True, in alphabetical order. */
  reasonsWhileTrue(type: string): readonly string[] {
    const reasons = this.versions.flatMap((version) => {
      const found = conditionOf(version, type);
      return found?.status === 'True' ? [found.reason ?? ''] : [];
    });
    return [...new Set(reasons)].toSorted();
  }

  /** Records a state of AWS. The caller must call this whenever AWS may have changed. */
  recordAws(snapshot: AwsSnapshot): void {
    this.snapshots.push(snapshot);
    for (const { id } of snapshot.roles) this.roleIds.add(id);
  }

  /** Checks one version of the AWSFargateProfile. `now`: the state of AWS at the moment of the version. */
  checkVersion({ type, object }: Pick<StoredEvent, 'type' | 'object'>, now: AwsSnapshot): void {
    this.recordAws(now);
    const before = this.versions.at(-1);
    this.isGone = type === 'DELETED';
    if (this.isGone) {
      this.snapshots = [now];
      for (const { status } of now.profiles) this.found.add(`the object was deleted while its profile was ${status}`);
      if (now.roles.length > 0) this.found.add('the object was deleted while its role existed');
    } else {
      const previous = before?.metadata.uid === object.metadata.uid ? before : undefined;
      for (const wrong of contradictionsIn(object, previous)) this.found.add(wrong);
      // A version with an unchanged status comes from a write to other fields, for example to the record. It says
      // nothing new about AWS, and the status that follows may come from an earlier read.
      if (JSON.stringify(object['status']) !== JSON.stringify(before?.['status'])) {
        this.compareWithAws(object, before);
        this.snapshots = [now];
      }
    }
    this.versions.push(object);
  }

  private compareWithAws(object: KubeObject, before: KubeObject | undefined): void {
    const statuses = this.snapshots.flatMap(({ profiles }) =>
      profiles.length === 0 ? ['absent'] : profiles.map(({ status }) => status),
    );
    const report = (isWrong: boolean, words: string): void => {
      if (isWrong) this.found.add(`${words} (in AWS since the previous status: ${[...new Set(statuses)].join(', ')})`);
    };
    const isActive = statuses.includes('ACTIVE');
    for (const type of ['Ready', 'EKSFargateProfileReady'])
      report(isTrue(object, type) && !isActive, `${type} is True without ACTIVE`);
    const isNewlyProvisioned = isProvisioned(object) && (before === undefined || !isProvisioned(before));
    report(isNewlyProvisioned && !isActive, 'initialization.provisioned was set without ACTIVE');
    const hadPolicy = this.snapshots.some(({ roles }) =>
      roles.some(({ attachedPolicies }) => attachedPolicies.includes(EKS_POLICY)),
    );
    // While AWS cannot be read, the manager does not change the condition IAMFargateRolesReady.
    const type = 'IAMFargateRolesReady';
    const becameReady = isTrue(object, type) && (before === undefined || !isTrue(before, type));
    report(becameReady && !hadPolicy, `${type} became True without a role that has its policy`);
    const [profileStatus, arn] = [statusField(object, 'profileStatus'), statusField(object, 'profileARN')];
    // While AWS cannot be read, status keeps what the manager has read before.
    const isRead = ['Ready', 'Deleting'].every((each) => conditionOf(object, each)?.reason !== 'AWSUnavailable');
    report(
      isRead && typeof profileStatus === 'string' && !statuses.includes(profileStatus),
      `status.profileStatus is ${String(profileStatus)}`,
    );
    const isKnown = this.snapshots.some(({ profiles }) => profiles.some((each) => each.arn === arn));
    report(isRead && arn !== undefined && !isKnown, 'status.profileARN names no profile');
    const roleId = fieldAt(statusField(object, 'role'), 'id');
    report(typeof roleId === 'string' && !this.roleIds.has(roleId), 'status.role.id names no role');
  }
}

/**
 * Returns the contradictions within a version, and between this version and the previous version of the same object.
 */
function contradictionsIn(object: KubeObject, before: KubeObject | undefined): readonly string[] {
  const { generation = 0, deletionTimestamp } = object.metadata;
  const ready = conditionOf(object, 'Ready')?.status;
  const isAtWork = ['Reconciling', 'Stalled', 'Paused'].some((type) => isTrue(object, type));
  const [observed, observedBefore] = [observedGenerationOf(object), before && observedGenerationOf(before)];
  const isReady = statusField(object, 'ready') === true;
  const rows: readonly (readonly [isWrong: boolean, words: string])[] = [
    [isTrue(object, 'Stalled') && isTrue(object, 'Reconciling'), 'Stalled and Reconciling are both True'],
    [ready === 'True' && isTrue(object, 'Stalled'), 'Ready and Stalled are both True'],
    [ready === 'False' && !isAtWork, 'Ready is False, but neither Reconciling nor Stalled is True'],
    [isTrue(object, 'Deleting') && deletionTimestamp === undefined, 'Deleting is True without a deletion timestamp'],
    [ready !== undefined && isReady !== (ready === 'True'), `status.ready is ${isReady} while Ready is ${ready}`],
    [observed > generation, `observedGeneration ${observed} is ahead of generation ${generation}`],
    [observedBefore !== undefined && observed < observedBefore, `observedGeneration went back to ${observed}`],
    [
      conditionsOf(object).some(({ observedGeneration = 0 }) => observedGeneration > generation),
      `a condition is ahead of generation ${generation}`,
    ],
    [before !== undefined && isProvisioned(before) && !isProvisioned(object), 'initialization.provisioned was removed'],
  ];
  return rows.flatMap(([isWrong, words]) => (isWrong ? [words] : []));
}

const statusField = (object: KubeObject, field: string): unknown => fieldAt(object['status'], field);

export const conditionOf = (object: KubeObject, type: string) =>
  conditionsOf(object).find((condition) => condition.type === type);

const isTrue = (object: KubeObject, type: string): boolean => conditionOf(object, type)?.status === 'True';

const isProvisioned = (object: KubeObject): boolean =>
  fieldAt(statusField(object, 'initialization'), 'provisioned') === true;

/** Returns status.observedGeneration, which is -1 before the first reconcile, the default in the CRD. */
const observedGenerationOf = (object: KubeObject): number => {
  const observed = statusField(object, 'observedGeneration');
  return typeof observed === 'number' ? observed : -1;
};
