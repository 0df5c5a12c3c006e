import { setTimeout as delay } from 'node:timers/promises';
import { fieldAt } from '../../api/record.ts';
import { IAMClient } from '@aws-sdk/client-iam';
import { EKSClient } from '@aws-sdk/client-eks';
import type { CallRecord } from '../aws/call-log.ts';
import type { EmulatedProfileStatus } from '../aws/model/resources.ts';
import { EmulatorRequestHandler } from '../aws/transport/request-handler.ts';
import type { AccessEntryView, ProfileView, RoleView } from '../aws/admin/views.ts';
import type { RawObject, RawWatchEvent } from '../envtest/clients/api.ts';
import { STATIC_IDENTITY, createStaticIdentity } from '../world/aws/identities.ts';
import { type World, REGION, fargateProfile } from '../world/world.ts';
import { type AwsSnapshot, StatusChecker, findCondition } from './status-checker.ts';
import { findMissingRecords } from './write-ahead.ts';
import { HANG_LIMIT_MS } from '../support/hang-limit.ts';

const CLUSTER = 'c';
const NAME = 'web';
/** The name of a Fargate profile of another user in the EKS cluster. */
const SIBLING = 'sibling';
/** The health issues that the emulated EKS shows for a Fargate profile with the status CREATE_FAILED. */
const ISSUES = [{ code: 'InternalFailure', message: 'An internal error occurred', resourceIds: [] }];

/** The n-th call of one AWS operation, counted from 1. */
export interface NthCall {
  readonly operation: string;
  readonly nth: number;
}

export const nthCallText = ({ operation, nth }: NthCall): string => `${operation}#${nth}`;

export interface AwsResources {
  readonly profiles: readonly ProfileView[];
  readonly roles: readonly RoleView[];
  readonly accessEntries: readonly AccessEntryView[];
}

/** How an AWSFargateProfile names its EKS cluster: by a Cluster with a control plane, or by spec.eksCluster. */
export type SubjectKind = 'cluster' | 'eksCluster';

/**
 * The highest number of a test subject in one test run. Subjects of both kinds are numbered together. At its start, the
 * manager needs a flag `--allow-eks-cluster` for each number that a subject with spec.eksCluster may get.
 */
const MOST_IN_EKS = 2_000;
const accountInEks = (number: number): string => String(200_000_000_000 + number);

/**
 * Returns the flags `--allow-eks-cluster` of the manager. Each flag allows one namespace of the tests to use its EKS
 * cluster in spec.eksCluster.
 */
export const allowedEksClusters = (): readonly string[] =>
  Array.from({ length: MOST_IN_EKS }, (_, index) => {
    const number = index + 1;
    return `--allow-eks-cluster=grid-eks-${number}=${accountInEks(number)}/${REGION}/grid-eks-${number}`;
  });

/**
 * A test subject: one AWSFargateProfile with its own namespace, cluster, AWS account and credentials. So a fault in the
 * AWS calls for one test subject does not affect another test subject.
 *
 * The emulated EKS finishes the creation or deletion of a Fargate profile after reads, not after a time: the first read
 * shows CREATING or DELETING, and the second read shows the result. So the manager makes the same AWS calls on a busy
 * machine as on an idle machine.
 */
export class GridSubject {
  readonly id: string;
  readonly account: string;
  readonly checker = new StatusChecker();
  readonly eksCluster: string;
  readonly profileName: string;
  /** AWS clients of another user of the same AWS account. */
  readonly foreignClients: { readonly eks: EKSClient; readonly iam: IAMClient };
  /**
   * The final statuses of the next Fargate profiles that EKS creates, in order. When the list is empty, the final
   * status is ACTIVE.
   */
  readonly createResults: EmulatedProfileStatus[] = [];
  /** How often each Fargate profile and each IAM role was created, by the name of the resource. */
  readonly createCounts = new Map<string, number>();
  accessKeyId = '';
  /** Whether it is a violation if no profile of the manager is ACTIVE. */
  mustServe = false;
  readonly #world: World;
  readonly #kind: SubjectKind;
  readonly #calls: CallRecord[] = [];
  readonly #violations: string[] = [];
  readonly #seenTransitions = new Set<string>();
  #isSiblingBusy = false;
  #held: { readonly call: NthCall; seen: number; readonly hold: () => Promise<void> } | undefined;
  #reconcileCount = 0;
  /**
   * Grows whenever the AWSFargateProfile or AWS may have changed. The method `until` checks its condition again only
   * when this number has grown.
   */
  #changeCount = 0;

  constructor(world: World, number: number, kind: SubjectKind = 'cluster') {
    const isInEks = kind === 'eksCluster';
    this.#world = world;
    this.#kind = kind;
    this.id = isInEks ? `grid-eks-${number}` : `grid-${number}`;
    this.account = isInEks ? accountInEks(number) : String(100_000_000_000 + number);
    this.eksCluster = isInEks ? this.id : `${this.id}_${CLUSTER}-control-plane`;
    this.profileName = `${this.id}_${NAME}`;
    const { accessKeyId, secretAccessKey } = world.aws.admin.registerKey({ account: this.account, foreign: true });
    const config = {
      region: REGION,
      credentials: { accessKeyId, secretAccessKey },
      requestHandler: new EmulatorRequestHandler(world.aws),
    };
    this.foreignClients = { eks: new EKSClient(config), iam: new IAMClient(config) };
  }

  /** Creates the objects and AWS resources that the AWSFargateProfile needs, but not the AWSFargateProfile itself. */
  async setUp(): Promise<void> {
    const { account, id } = this;
    await this.#world.createNamespace(id);
    this.accessKeyId = (await createStaticIdentity(this.#world, id, account)).accessKeyId;
    if (this.#kind === 'eksCluster') {
      this.#world.aws.admin.createCluster({ account, name: this.eksCluster, region: REGION });
      return;
    }
    await this.#world.createEksCluster(CLUSTER, { namespace: id, account, identityRef: this.#identityRef });
  }

  /** Removes the EKS cluster of this scenario from the AWS emulator, and closes the AWS clients of the scenario. */
  tearDown(): void {
    this.#world.aws.admin.removeCluster({ account: this.account, name: this.eksCluster });
    this.foreignClients.eks.destroy();
    this.foreignClients.iam.destroy();
  }

  async apply(spec: object): Promise<void> {
    const cluster =
      this.#kind === 'cluster'
        ? { clusterName: CLUSTER }
        : {
            clusterName: undefined,
            eksCluster: { name: this.eksCluster, region: REGION, identityRef: this.#identityRef },
          };
    await this.#world.apply(fargateProfile(NAME, { ...cluster, ...spec }, { namespace: this.id }));
  }

  get #identityRef(): { readonly kind: string; readonly name: string } {
    return { kind: STATIC_IDENTITY, name: this.id };
  }

  async patch(patch: object): Promise<void> {
    await this.#world.patch(NAME, patch, this.id);
  }

  /**
   * Changes an annotation of the AWSFargateProfile, so that the manager compares it with AWS now and not only at the
   * next periodic resync.
   */
  async triggerResync(): Promise<void> {
    this.#reconcileCount += 1;
    await this.patch({ metadata: { annotations: { 'tests.example.com/look': String(this.#reconcileCount) } } });
  }

  async delete(): Promise<void> {
    await this.#world.delete(NAME, this.id);
  }

  /** Deletes the Fargate profile in the AWS emulator, without the manager. */
  removeProfileInAws(): void {
    this.#world.aws.admin.removeProfile({ account: this.account, cluster: this.eksCluster, name: this.profileName });
    this.#recordSnapshot();
  }

  /** Deletes the pod execution role in the AWS emulator, without the manager. */
  removeRoleInAws(): void {
    const { account } = this;
    for (const { name } of this.ownResources().roles) this.#world.aws.admin.removeRole({ account, name });
    this.#recordSnapshot();
  }

  /** Adds to the EKS cluster a Fargate profile that the manager does not own. */
  putForeignProfile(name: string, podExecutionRoleArn: string): void {
    const { account, eksCluster: cluster } = this;
    this.#world.aws.admin.putProfile({ account, cluster, name, podExecutionRoleArn });
  }

  /**
   * Adds to the EKS cluster a Fargate profile that EKS is creating for another user. EKS changes only one Fargate
   * profile of an EKS cluster at a time, so it refuses CreateFargateProfile calls of the manager. The first refusal
   * ends the creation for the other user.
   */
  putBusySibling(): void {
    const { account } = this;
    this.putForeignProfile(SIBLING, `arn:aws:iam::${account}:role/theirs`);
    this.#setSibling('CREATING');
    this.#isSiblingBusy = true;
  }

  #setSibling(status: EmulatedProfileStatus): void {
    const { account, eksCluster: cluster } = this;
    this.#world.aws.admin.setProfile({ account, cluster, name: SIBLING, status });
  }

  /** The profiles, roles and access entries in the AWS account that the manager, or EKS for it, has created. */
  ownResources(): AwsResources {
    return this.#resourcesWhere(({ foreign }) => !foreign);
  }

  /** The profiles, roles and access entries in the AWS account that `ownResources` leaves out. */
  foreignResources(): AwsResources {
    return this.#resourcesWhere(({ foreign }) => foreign);
  }

  /** The AWS calls with the access key of this test subject, in order. */
  get calls(): readonly CallRecord[] {
    return this.#calls;
  }

  /**
   * Contradictions in the AWSFargateProfile, and between the AWSFargateProfile and AWS. Also AWS calls that the manager
   * sent too early: while the AWSFargateProfile did not yet record the resource to be created, or while Ready was still
   * True.
   */
  get violations(): readonly string[] {
    return [...this.#violations, ...this.checker.violations];
  }

  /** The newest version of the AWSFargateProfile; `undefined` while it does not exist. */
  get object(): RawObject | undefined {
    return this.checker.latest;
  }

  /**
   * Whether the newest version of the AWSFargateProfile has a condition with the given values, and with the current
   * generation as the observedGeneration of the condition.
   */
  hasCondition(type: string, status: string, reason?: string): boolean {
    const { object } = this;
    const found = object && findCondition(object, type);
    return (
      found?.status === status &&
      (reason === undefined || found.reason === reason) &&
      found.observedGeneration === object?.metadata.generation
    );
  }

  /**
   * Waits until the given function returns true. Calls this function only when the AWSFargateProfile or AWS may have
   * changed.
   */
  async until(what: string, isMet: () => boolean): Promise<void> {
    const deadline = performance.now() + HANG_LIMIT_MS;
    for (let seen = -1; ;) {
      if (seen !== this.#changeCount) {
        seen = this.#changeCount;
        if (isMet()) return;
      }
      if (performance.now() > deadline)
        throw new Error(`not within ${HANG_LIMIT_MS / 1_000} s: ${what}\n${this.describe()}`);
      await delay(20);
    }
  }

  /**
   * Makes the AWS emulator hold back the answer to a later AWS call. The emulator calls `hold` when the AWS call has
   * taken effect, and sends the answer after the promise of `hold` has resolved.
   */
  holdAfter(call: NthCall, hold: () => Promise<void>): void {
    this.#held = { call, seen: 0, hold };
  }

  onWatchEvent(event: RawWatchEvent): void {
    this.#changeCount += 1;
    this.checker.checkVersion(event, this.#snapshot());
  }

  async onCall(call: CallRecord, phase: 'before' | 'after'): Promise<void> {
    if (this.mustServe && this.ownResources().profiles.every(({ status }) => status !== 'ACTIVE'))
      this.#violations.push(`no profile is ACTIVE ${phase} ${call.operation}`);
    if (phase === 'before') {
      if (call.mutates || this.#isInTransition) await this.#checkBeforeChange(call);
      if (call.operation === 'DescribeFargateProfile') this.#finishTransition(call);
      this.#recordSnapshot();
      return;
    }
    this.#calls.push(call);
    const name = CREATE_OPERATIONS.has(call.operation)
      ? (call.identifiers['RoleName'] ?? call.identifiers['fargateProfileName'])
      : undefined;
    if (call.applied && name !== undefined) this.createCounts.set(name, (this.createCounts.get(name) ?? 0) + 1);
    this.#recordSnapshot();
    const isRefused = call.operation === 'CreateFargateProfile' && call.actedAt !== undefined && !call.applied;
    if (this.#isSiblingBusy && isRefused) {
      this.#isSiblingBusy = false;
      this.#setSibling('ACTIVE');
      // The new annotation makes the manager call EKS again now. Otherwise the manager would first wait, because EKS
      // was busy with another Fargate profile.
      await this.triggerResync();
    }
    const held = this.#held;
    if (held?.call.operation !== call.operation) return;
    held.seen += 1;
    if (held.seen === held.call.nth) await held.hold();
  }

  /** Lists the AWS calls for the AWSFargateProfile and the newest versions of it, for error messages. */
  describe(): string {
    const calls = this.#calls.map(({ operation, applied, errorCode }) =>
      [operation, ...(applied ? ['(applied)'] : []), ...(errorCode === undefined ? [] : [errorCode])].join(' '),
    );
    const versions = this.checker.versions.map((version) => {
      const shown = (version.status?.conditions ?? []).filter(({ type }) => SHOWN_CONDITIONS.has(type));
      const words = shown.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
      return [`${version.metadata.resourceVersion} generation ${version.metadata.generation}`, ...words].join(
        '\n      ',
      );
    });
    return `  ${this.id}\n  calls: ${calls.join(', ')}\n  versions:\n    ${versions.slice(-6).join('\n    ')}`;
  }

  /**
   * Called before each read of the Fargate profile from EKS. Before the second read of a Fargate profile that is
   * CREATING or DELETING, completes the creation or deletion.
   */
  #finishTransition({ identifiers }: CallRecord): void {
    const { account, eksCluster: cluster } = this;
    const name = identifiers['fargateProfileName'];
    if (name === undefined) return;
    const profile = this.ownResources().profiles.find((each) => each.name === name);
    const transition = profile?.status === 'CREATING' || profile?.status === 'DELETING' ? profile : undefined;
    const key = `${transition?.arn} ${transition?.status}`;
    if (transition === undefined) return;
    if (!this.#seenTransitions.has(key)) {
      this.#seenTransitions.add(key);
      return;
    }
    const { admin } = this.#world.aws;
    if (transition.status === 'DELETING') {
      admin.removeProfile({ account, cluster, name });
      return;
    }
    const status = this.createResults.shift() ?? 'ACTIVE';
    admin.setProfile({ account, cluster, name, status, issues: status === 'ACTIVE' ? [] : ISSUES });
  }

  #resourcesWhere(isWanted: (view: ProfileView | RoleView | AccessEntryView) => boolean): AwsResources {
    const { account } = this;
    const { admin } = this.#world.aws;
    return {
      profiles: admin.profiles({ account }).filter(isWanted),
      roles: admin.roles({ account }).filter(isWanted),
      accessEntries: admin.accessEntries({ account }).filter(isWanted),
    };
  }

  /** Whether new pods of the Fargate profile can join the EKS cluster. */
  canPodsJoin(): boolean {
    const { account, eksCluster: cluster } = this;
    return this.#world.aws.admin.canPodsJoin({
      account,
      cluster,
      name: this.ownResources().profiles[0]?.name ?? this.profileName,
    });
  }

  #recordSnapshot(): void {
    this.#changeCount += 1;
    this.checker.recordAws(this.#snapshot());
  }

  #snapshot(): AwsSnapshot {
    const { profiles, roles } = this.ownResources();
    return { profiles, roles };
  }

  get #isInTransition(): boolean {
    return this.ownResources().profiles.some(({ status }) => status === 'CREATING' || status === 'DELETING');
  }

  /**
   * Checks the AWSFargateProfile before an AWS call that may change AWS. First waits until the test has compared the
   * newest version of the AWSFargateProfile with AWS, because the call may replace the AWS state that this version
   * describes. Before a create call, the AWSFargateProfile must already have the fields with which a new manager finds
   * the created resource after a crash. Before CreateFargateProfile and DeleteFargateProfile, the Ready condition must
   * not be True.
   */
  async #checkBeforeChange({ operation, identifiers }: CallRecord): Promise<void> {
    const object = await this.#world.profile(NAME, this.id);
    await this.until('the watch event of the newest version', () => this.#hasSeen(object)).catch(({ message }: Error) =>
      this.#violations.push(message),
    );
    const { predecessors } = object?.status ?? {};
    const isOfPredecessor =
      operation === 'DeleteFargateProfile' &&
      Array.isArray(predecessors) &&
      predecessors.some((each) => fieldAt(each, 'name') === identifiers['fargateProfileName']);
    if (
      LIFECYCLE_OPERATIONS.has(operation) &&
      !isOfPredecessor &&
      object !== undefined &&
      findCondition(object, 'Ready')?.status === 'True'
    ) {
      this.#violations.push(`${operation} was sent while Ready was True`);
    }
    if (!CREATE_OPERATIONS.has(operation)) return;
    const missing = findMissingRecords({ operation, identifiers }, object, this);
    if (missing.length > 0)
      this.#violations.push(`${operation} was sent without ${missing.join(', ')} recorded in the object`);
  }

  #hasSeen(object: RawObject | undefined): boolean {
    const { latest, versions } = this.checker;
    if (object === undefined || latest === undefined) return object === latest;
    return versions.some(({ metadata }) => metadata.resourceVersion === object.metadata.resourceVersion);
  }
}

const CREATE_OPERATIONS: ReadonlySet<string> = new Set(['CreateRole', 'CreateFargateProfile']);
const LIFECYCLE_OPERATIONS: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);
const SHOWN_CONDITIONS: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Deleting']);
