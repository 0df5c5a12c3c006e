import type { CallRecord } from '../aws/call-log.ts';
import type { EmulatedProfileStatus } from '../aws/model/resources.ts';
import type { ProfileView, RoleView } from '../aws/admin/views.ts';
import { eventually } from '../support/eventually.ts';
import { HANG_LIMIT_MS } from '../support/hang-limit.ts';
import type { AuditEvent } from '../world/cluster-api/audit.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import { STATIC_IDENTITY, createStaticIdentity } from '../world/aws/identities.ts';
import { type ManagedCluster, createManagedCluster, managedCluster } from '../world/cluster-api/managed-cluster.ts';
import { type World, fargateProfile } from '../world/world.ts';
import type { Removals } from './removals.ts';
import { type TeardownObjects, type AccountSnapshot, findTeardownViolations } from './teardown-checks.ts';
import type { KillPoint } from './kill-points.ts';
import { FOREIGN_ROLE, SHARED_ROLE, accountOfCluster, formatCall, teardownObjects } from './teardown-objects.ts';

const NEIGHBOUR = 'neighbour';
const POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
/** The status of a Fargate profile right after EKS has accepted its creation or deletion, by AWS operation. */
const BEGUN: Readonly<Record<string, EmulatedProfileStatus>> = {
  CreateFargateProfile: 'CREATING',
  DeleteFargateProfile: 'DELETING',
};

/**
 * A test subject: one Cluster with four AWSFargateProfiles, an AWS account and AWS credentials of its own. The test
 * recognizes the AWS calls for this Cluster by these credentials. Two AWSFargateProfiles share an IAM role, one has its
 * own role, and one uses a role that the manager does not own.
 *
 * The emulated EKS finishes the deletion of a Fargate profile after reads, not after a time: each manager process reads
 * DELETING once, and its next read finds the Fargate profile gone. So the manager makes the same AWS calls on a busy
 * machine as on an idle machine.
 */
export class TeardownSubject {
  readonly account: string;
  readonly cluster: ManagedCluster;
  readonly #world: World;
  readonly #objects: TeardownObjects;
  readonly #snapshots: AccountSnapshot[] = [];
  readonly #calls: CallRecord[] = [];
  readonly #violations = new Set<string>();
  #accessKeyId = '';
  #isDeleting = false;
  #foreignBefore = '';
  #killPoint: KillPoint | undefined;
  #kill: () => Promise<void> = async () => {};
  /**
   * The state of the manager: `first` before the kill, `ending` during the kill, when its AWS requests get lost, and
   * `second` after the kill, when a new process replaces it.
   */
  #managerState: 'first' | 'ending' | 'second' = 'first';
  #killing: Promise<void> | undefined;
  #callCount = 0;
  #count = 0;
  #changes = 0;
  #killedAt: CallRecord | undefined;
  /** ARNs of the Fargate profiles that the current manager process has read with the status DELETING. */
  #deletionsSeen = new Set<string>();

  constructor(world: World, number: number, namespace: string) {
    this.#world = world;
    this.account = accountOfCluster(number);
    this.cluster = managedCluster(`c${number}`, namespace);
    this.#objects = teardownObjects(number, namespace, this.cluster.name);
  }

  /**
   * Creates the Cluster, its AWS resources and its four AWSFargateProfiles, and waits until the AWSFargateProfiles are
   * Ready.
   */
  async setUp(): Promise<void> {
    const { account, cluster } = this;
    const { namespace, name } = cluster;
    const { admin } = this.#world.aws;
    this.#accessKeyId = (await createStaticIdentity(this.#world, name, account)).accessKeyId;
    const trustPolicy = CAPA_TRUST;
    const role = admin.putRole({ account, name: FOREIGN_ROLE, trustPolicy, attachedPolicies: [EKS_POLICY] });
    // Another EKS cluster of the same AWS account, which the teardown must not change.
    admin.createCluster({ account, name: NEIGHBOUR });
    admin.putProfile({ account, cluster: NEIGHBOUR, name: 'theirs', podExecutionRoleArn: role.arn });
    await createManagedCluster(this.#world, name, { namespace, account, identityRef: { kind: STATIC_IDENTITY, name } });
    const specs = [
      { roleName: SHARED_ROLE },
      { roleName: SHARED_ROLE },
      { roleAdditionalPolicies: [POLICY] },
      { roleARN: role.arn },
    ];
    const { profiles } = this.#objects;
    await this.#world.apply(
      ...profiles.map(({ object }, index) =>
        fargateProfile(object, { clusterName: name, ...specs[index] }, { namespace }),
      ),
    );
    await Promise.all(profiles.map(({ object }) => this.#world.ready(object, { namespace })));
  }

  /**
   * Deletes the Cluster as a user does. When the manager makes the AWS call that `killPoint` selects, the callback
   * `kill` is called. The promise of `kill` must resolve when the manager is dead.
   */
  async deleteCluster(killPoint: KillPoint, kill: () => Promise<void>): Promise<void> {
    this.#killPoint = killPoint;
    this.#kill = kill;
    this.#foreignBefore = this.#foreign();
    this.#isDeleting = true;
    await this.#world.controlPlane.api.delete(this.cluster.clusterPath);
  }

  /**
   * Waits until the manager has been killed, or until the teardown has ended without the AWS call at which the test
   * would kill the manager.
   */
  async untilKilledOrGone(): Promise<void> {
    const isDeadOrOver = async (): Promise<boolean> => this.#killedAt !== undefined || this.#isGone();
    await this.#until('the kill point', isDeadOrOver);
    await this.#killing;
  }

  /** Waits until the Cluster, its control plane and its AWSFargateProfiles are gone. */
  async untilGone(): Promise<void> {
    await this.#until('the deletion of the Cluster', () => this.#isGone());
  }

  /**
   * Returns everything that was wrong during the teardown or is wrong after it, for example AWS resources that still
   * exist.
   */
  findViolations(audit: readonly AuditEvent[], removals: Removals): readonly string[] {
    const { eksName } = this.cluster;
    const clusters = this.#world.aws.admin
      .clusters()
      .filter(({ account, name }) => account === this.account && name === eksName);
    const roles = this.#roles().filter(({ foreign }) => !foreign);
    return [
      ...this.#violations,
      ...[...clusters, ...this.#profiles(), ...roles].map(({ arn }) => `left in AWS: ${arn}`),
      ...(this.#foreign() === this.#foreignBefore
        ? []
        : [`foreign resources changed: ${this.#foreign()}, not ${this.#foreignBefore}`]),
      ...findTeardownViolations(this.#objects, { audit, removals, snapshots: this.#snapshots }),
    ];
  }

  /** Number of AWSFargateProfiles of the Cluster. */
  get size(): number {
    return this.#objects.profiles.length;
  }

  /** Number of AWS calls with the credentials of this test subject. */
  get callCount(): number {
    return this.#callCount;
  }

  /** The AWS calls that have reached AWS since the test deleted the Cluster, in order. */
  get calls(): readonly CallRecord[] {
    return this.#calls;
  }

  /** The AWS call at which the manager was killed; undefined: the manager was not killed. */
  get killedAt(): CallRecord | undefined {
    return this.#killedAt;
  }

  tearDown(): void {
    this.#world.aws.admin.removeCluster({ account: this.account, name: NEIGHBOUR });
  }

  /**
   * Called by the AWS emulator before and after each AWS call of the account. Returns `lost` for a call that must not
   * reach AWS.
   */
  async onCall(call: CallRecord, phase: 'before' | 'after'): Promise<'lost' | undefined> {
    if (call.accessKeyId !== this.#accessKeyId) return undefined;
    if (phase === 'before') {
      this.#callCount += 1;
      if (call.operation === 'DescribeFargateProfile') this.#finishDeletion(call);
      this.#recordSnapshot();
    } else this.#recordAfterCall(call, this.#snapshots.at(-1));
    if (!this.#isDeleting) return undefined;
    if (phase === 'after') {
      this.#calls.push(call);
      if (this.#killedAt?.seq === call.seq) await this.#killManager();
      return undefined;
    }
    if (this.#managerState === 'ending') return this.#killAndLose();
    this.#count += 1;
    if (call.mutates) this.#changes += 1;
    if (this.#isKillPoint(call)) {
      this.#managerState = 'ending';
      this.#killedAt = call;
      if (this.#killPoint?.lost === 'request') return this.#killAndLose();
    }
    if (call.mutates) this.#checkMutation(call);
    return undefined;
  }

  /** Lists the AWS calls and the conditions of the AWSFargateProfiles, for error messages. */
  async describe(): Promise<string> {
    const objects = await Promise.all(
      this.#objects.profiles.map(({ object }) => this.#world.profile(object, this.cluster.namespace)),
    );
    const lines = objects
      .filter((object) => object !== undefined)
      .map(({ metadata, status }) => {
        const words = (status?.conditions ?? []).map(({ type, status: is, reason, message }) =>
          [type, is, reason, message].join(' '),
        );
        return `${metadata.name}: ${words.join('; ')}`;
      });
    return [`  ${this.cluster.name}`, `calls: ${this.#calls.map(formatCall).join(', ')}`, ...lines].join('\n    ');
  }

  #isKillPoint({ mutates }: CallRecord): boolean {
    if (this.#managerState !== 'first') return false;
    return this.#killPoint?.of === 'call'
      ? this.#count === this.#killPoint.nth
      : mutates && this.#changes === this.#killPoint?.nth;
  }

  #killManager(): Promise<void> {
    this.#killing ??= this.#kill().then(() => {
      this.#managerState = 'second';
      this.#deletionsSeen = new Set();
    });
    return this.#killing;
  }

  #finishDeletion({ identifiers: { clusterName, fargateProfileName } }: CallRecord): void {
    const { account, cluster } = this;
    const deleted = this.#profiles().find(({ name, status }) => name === fargateProfileName && status === 'DELETING');
    if (deleted === undefined || clusterName !== cluster.eksName || this.#managerState === 'ending') return;
    if (!this.#deletionsSeen.has(deleted.arn)) this.#deletionsSeen.add(deleted.arn);
    else this.#world.aws.admin.removeProfile({ account, cluster: cluster.eksName, name: deleted.name });
  }

  async #killAndLose(): Promise<'lost'> {
    await this.#killManager();
    return 'lost';
  }

  /**
   * Records a violation when an AWS call changes an IAM role that a Fargate profile still uses, or a resource that the
   * manager does not own.
   */
  #checkMutation({ operation, identifiers }: CallRecord): void {
    const { fargateProfileName: profile, clusterName, principalArn } = identifiers;
    const role = identifiers['RoleName'] ?? principalArn?.split('/').at(-1);
    const users = this.#profiles().filter(
      ({ podExecutionRoleArn: arn }) => role !== undefined && arn.endsWith(`/${role}`),
    );
    for (const { name } of users) this.#violations.add(`${operation} of ${role} under profile ${name}`);
    const isOurs = this.#objects.profiles.some(
      (each) =>
        (each.isRoleOurs && each.role === role) || (each.profile === profile && clusterName === this.cluster.eksName),
    );
    if (!isOurs) this.#violations.add(`${operation} of ${role ?? profile}, which is foreign`);
  }

  #recordSnapshot(): AccountSnapshot {
    const snapshot = {
      at: Date.now(),
      profiles: new Map(this.#profiles().map((profile) => [profile.name, profile])),
      roles: new Map(this.#roles().map((role) => [role.name, role])),
    };
    this.#snapshots.push(snapshot);
    return snapshot;
  }

  /**
   * Records the state of AWS after an AWS call. For the creation or deletion of a Fargate profile, first records the
   * status CREATING or DELETING, because on a busy machine EKS may already have finished the creation or deletion.
   */
  #recordAfterCall({ operation, applied, identifiers }: CallRecord, before: AccountSnapshot | undefined): void {
    const name = identifiers['fargateProfileName'] ?? '';
    const status = applied ? BEGUN[operation] : undefined;
    const { at, profiles, roles } = this.#recordSnapshot();
    const profile = profiles.get(name) ?? before?.profiles.get(name);
    if (status === undefined || profile === undefined) return;
    const begun = { at, roles, profiles: new Map([...profiles, [name, { ...profile, status }]]) };
    this.#snapshots.splice(-1, 0, begun);
  }

  #profiles(): readonly ProfileView[] {
    const { eksName } = this.cluster;
    return this.#world.aws.admin.profiles({ account: this.account }).filter(({ cluster }) => cluster === eksName);
  }

  #roles(): readonly RoleView[] {
    return this.#world.aws.admin.roles({ account: this.account });
  }

  /** Returns the Fargate profiles and roles of the account that the manager does not own, as JSON. */
  #foreign(): string {
    const all = [...this.#world.aws.admin.profiles({ account: this.account }), ...this.#roles()];
    return JSON.stringify(all.filter(({ foreign }) => foreign));
  }

  async #isGone(): Promise<boolean> {
    const { api } = this.#world.controlPlane;
    const { clusterPath, controlPlanePath, infrastructurePath, namespace } = this.cluster;
    for (const path of [clusterPath, controlPlanePath, infrastructurePath]) if (await api.exists(path)) return false;
    const profiles = this.#objects.profiles.map(({ object }) => this.#world.profile(object, namespace));
    return (await Promise.all(profiles)).every((profile) => profile === undefined);
  }

  async #until(what: string, isMet: () => Promise<boolean>): Promise<void> {
    await eventually(isMet, { what }).catch(async (error: unknown) => {
      throw new Error(`not within ${HANG_LIMIT_MS / 1_000} s: ${what}\n${await this.describe()}`, { cause: error });
    });
  }
}
