import { setTimeout as delay } from 'node:timers/promises';
import { IAMClient } from '@aws-sdk/client-iam';
import { EKSClient } from '@aws-sdk/client-eks';
import type { CallRecord } from '../aws/call-log.ts';
import type { ProfileStatus } from '../aws/model/state.ts';
import { EmulatorRequestHandler } from '../aws/request-handler.ts';
import type { ProfileView, RoleView } from '../aws/views.ts';
import type { KubeObject, WatchEvent } from '../envtest/api.ts';
import { STATIC, createStaticIdentity } from '../world/identities.ts';
import type { World } from '../world/world.ts';
import { REGION, fargateProfile } from '../world/world.ts';
import type { Sight } from './witness.ts';
import { Witness, conditionOf } from './witness.ts';

const CLUSTER = 'c';
const NAME = 'web';
/** What a profile that EKS could not create says of itself. */
const ISSUES = [{ code: 'InternalFailure', message: 'An internal error occurred', resourceIds: [] }];

/** The n-th call of an operation, from 1. */
export interface CallName {
  readonly operation: string;
  readonly nth: number;
}

export const callText = ({ operation, nth }: CallName): string => `${operation}#${nth}`;

export interface InAws {
  readonly profiles: readonly ProfileView[];
  readonly roles: readonly RoleView[];
}

/**
 * One AWSFargateProfile with all that it needs for itself: a namespace, a cluster, an AWS account and credentials for it,
 * so that what goes wrong with its calls is nobody else's trouble.
 *
 * EKS is driven by looks instead of time: what it begins is seen once as CREATING or DELETING, and has ended by the next
 * look. So a scenario makes the same calls however busy the machine is.
 */
export class Cell {
  readonly id: string;
  readonly account: string;
  readonly witness = new Witness();
  readonly eksCluster: string;
  readonly profileName: string;
  /** Somebody else in the account. */
  readonly stranger: { readonly eks: EKSClient; readonly iam: IAMClient };
  /** What becomes of the next creates; ACTIVE when there is nothing here. */
  readonly endsOfCreates: ProfileStatus[] = [];
  /** How often each profile and each role was made. */
  readonly made = new Map<string, number>();
  accessKeyId = '';
  readonly #world: World;
  readonly #calls: CallRecord[] = [];
  readonly #violations: string[] = [];
  #transitSeen = '';
  #held: { readonly call: CallName; seen: number; readonly hold: () => Promise<void> } | undefined;
  #looks = 0;
  /** Counts what may have changed something. */
  #news = 0;

  constructor(world: World, number: number) {
    this.#world = world;
    this.id = `grid-${number}`;
    this.account = String(100_000_000_000 + number);
    this.eksCluster = `${this.id}_${CLUSTER}-control-plane`;
    this.profileName = `${this.id}_${NAME}`;
    const { accessKeyId, secretAccessKey } = world.aws.admin.registerKey({ account: this.account, foreign: true });
    const config = {
      region: REGION,
      credentials: { accessKeyId, secretAccessKey },
      requestHandler: new EmulatorRequestHandler(world.aws),
    };
    this.stranger = { eks: new EKSClient(config), iam: new IAMClient(config) };
  }

  /** All but the profile. */
  async open(): Promise<void> {
    const { account, id } = this;
    await this.#world.createNamespace(id);
    this.accessKeyId = (await createStaticIdentity(this.#world, id, account)).accessKeyId;
    await this.#world.createEksCluster(CLUSTER, { namespace: id, account, identityRef: { kind: STATIC, name: id } });
  }

  /** Takes the EKS cluster away: nothing of the account is looked at again. */
  close(): void {
    this.#world.aws.admin.removeCluster({ account: this.account, name: this.eksCluster });
    this.stranger.eks.destroy();
    this.stranger.iam.destroy();
  }

  async apply(spec: object): Promise<void> {
    await this.#world.apply(fargateProfile(NAME, { clusterName: CLUSTER, ...spec }, { namespace: this.id }));
  }

  async patch(patch: object): Promise<void> {
    await this.#world.patch(NAME, patch, this.id);
  }

  /** Has the manager look at AWS now, as its resync would some time. */
  async lookAgain(): Promise<void> {
    this.#looks += 1;
    await this.patch({ metadata: { annotations: { 'tests.example.com/look': String(this.#looks) } } });
  }

  async delete(): Promise<void> {
    await this.#world.delete(NAME, this.id);
  }

  /** Deleted behind everybody's back. */
  removeProfileInAws(): void {
    this.#world.aws.admin.removeProfile({ account: this.account, cluster: this.eksCluster, name: this.profileName });
    this.#look();
  }

  /** Deleted behind everybody's back. */
  removeRoleInAws(): void {
    const { account } = this;
    for (const { name } of this.inAws().roles) this.#world.aws.admin.removeRole({ account, name });
    this.#look();
  }

  /** Another profile of the cluster, which somebody else made. */
  putForeignProfile(name: string, podExecutionRoleArn: string): void {
    const { account, eksCluster: cluster } = this;
    this.#world.aws.admin.putProfile({ account, cluster, name, podExecutionRoleArn });
  }

  /** What is in the account, but for what strangers put there. */
  inAws(): InAws {
    return this.#inAws(({ foreign }) => !foreign);
  }

  /** What strangers put into the account. */
  ofStrangers(): InAws {
    return this.#inAws(({ foreign }) => foreign);
  }

  /** The calls made with the cell's credentials. */
  get calls(): readonly CallRecord[] {
    return this.#calls;
  }

  /** What the witness saw, and what was changed in AWS before the object told of it. */
  get findings(): readonly string[] {
    return [...this.#violations, ...this.witness.findings];
  }

  /** `undefined`: there is none (any more). */
  get object(): KubeObject | undefined {
    return this.witness.latest;
  }

  /** Whether the newest version has the condition, at its own generation. */
  says(type: string, status: string, reason?: string): boolean {
    const { object } = this;
    const found = object && conditionOf(object, type);
    return (
      found?.status === status &&
      (reason === undefined || found.reason === reason) &&
      found.observedGeneration === object?.metadata.generation
    );
  }

  /** Waits for what follows from the object and from what is in AWS; looks only when one of them may have changed. */
  async until(what: string, isSo: () => boolean, timeoutMs = 60_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    for (let seen = -1; ;) {
      if (seen !== this.#news) {
        seen = this.#news;
        if (isSo()) return;
      }
      if (performance.now() > deadline) throw new Error(`not within ${timeoutMs / 1_000} s: ${what}\n${this.tell()}`);
      await delay(20);
    }
  }

  /** Holds back the answer to a call that comes from now on, once it has had its effect, until `hold` resolves. */
  holdAfter(call: CallName, hold: () => Promise<void>): void {
    this.#held = { call, seen: 0, hold };
  }

  told(event: WatchEvent): void {
    this.#news += 1;
    this.witness.told(event, this.#sight());
  }

  async onCall(call: CallRecord, phase: 'before' | 'after'): Promise<void> {
    if (phase === 'before') {
      if (call.mutates || this.#isInTransit) await this.#expectTold(call);
      if (call.operation === 'DescribeFargateProfile') this.#endTransit(call);
      this.#look();
      return;
    }
    this.#calls.push(call);
    const name = CREATIONS.has(call.operation)
      ? (call.nouns['RoleName'] ?? call.nouns['fargateProfileName'])
      : undefined;
    if (call.applied && name !== undefined) this.made.set(name, (this.made.get(name) ?? 0) + 1);
    this.#look();
    const held = this.#held;
    if (held?.call.operation !== call.operation) return;
    held.seen += 1;
    if (held.seen === held.call.nth) await held.hold();
  }

  /** For people, when something went wrong. */
  tell(): string {
    const calls = this.#calls.map(({ operation, applied, errorCode }) =>
      [operation, ...(applied ? ['(applied)'] : []), ...(errorCode === undefined ? [] : [errorCode])].join(' '),
    );
    const versions = this.witness.versions.map((version) => {
      const said = (version.status?.conditions ?? []).filter(({ type }) => TOLD.has(type));
      const words = said.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
      return [`${version.metadata.resourceVersion} generation ${version.metadata.generation}`, ...words].join(
        '\n      ',
      );
    });
    return `  ${this.id}\n  calls: ${calls.join(', ')}\n  versions:\n    ${versions.slice(-6).join('\n    ')}`;
  }

  /** The second look at a transit sees its end. */
  #endTransit({ nouns }: CallRecord): void {
    const { account, eksCluster: cluster, profileName: name } = this;
    if (nouns['fargateProfileName'] !== name) return;
    const profile = this.inAws().profiles.find((each) => each.name === name);
    const transit = profile?.status === 'CREATING' || profile?.status === 'DELETING' ? profile : undefined;
    const key = transit === undefined ? '' : `${transit.arn} ${transit.status}`;
    if (transit === undefined || key !== this.#transitSeen) {
      this.#transitSeen = key;
      return;
    }
    this.#transitSeen = '';
    const { admin } = this.#world.aws;
    if (transit.status === 'DELETING') {
      admin.removeProfile({ account, cluster, name });
      return;
    }
    const status = this.endsOfCreates.shift() ?? 'ACTIVE';
    admin.setProfile({ account, cluster, name, status, issues: status === 'ACTIVE' ? [] : ISSUES });
  }

  #inAws(isWanted: (view: ProfileView | RoleView) => boolean): InAws {
    const { account } = this;
    const { admin } = this.#world.aws;
    return { profiles: admin.profiles({ account }).filter(isWanted), roles: admin.roles({ account }).filter(isWanted) };
  }

  #look(): void {
    this.#news += 1;
    this.witness.saw(this.#sight());
  }

  #sight(): Sight {
    const { profiles, roles } = this.inAws();
    const profile = profiles.find(({ name }) => name === this.profileName);
    const [role] = roles;
    return { ...(profile && { profile }), ...(role && { role }) };
  }

  get #isInTransit(): boolean {
    return this.inAws().profiles.some(({ status }) => status === 'CREATING' || status === 'DELETING');
  }

  /**
   * Before anything changes in AWS each version that there is has been judged by how AWS was when it was written. What is made
   * must be on record by then, so that a successor finds it after a crash; and when the profile is on its way to or from
   * ACTIVE the object must not say Ready any more, however late AWS answers.
   */
  async #expectTold({ operation, nouns }: CallRecord): Promise<void> {
    const object = await this.#world.profile(NAME, this.id);
    await this.until('the watch’s telling of the newest version', () => this.#knows(object), LONGEST_LAG_MS).catch(
      ({ message }: Error) => this.#violations.push(message),
    );
    if (ENDS_OF_READY.has(operation) && object !== undefined && conditionOf(object, 'Ready')?.status === 'True') {
      this.#violations.push(`${operation} was sent while the object said Ready`);
    }
    if (!CREATIONS.has(operation)) return;
    const { account, region, eksClusterName, profileName, createRequestedAt, role } = object?.status ?? {};
    const roleName = typeof role === 'object' && role !== null && 'name' in role ? role.name : undefined;
    const missing = [
      ...((object?.metadata.finalizers ?? []).length > 0 ? [] : ['the finalizer']),
      ...(account === this.account ? [] : ['status.account']),
      ...(region === REGION ? [] : ['status.region']),
      ...(eksClusterName === this.eksCluster ? [] : ['status.eksClusterName']),
      ...(profileName === this.profileName ? [] : ['status.profileName']),
      ...(operation === 'CreateRole' && roleName !== nouns['RoleName'] ? ['status.role.name'] : []),
      ...(operation === 'CreateFargateProfile' && createRequestedAt === undefined ? ['status.createRequestedAt'] : []),
    ];
    if (missing.length > 0) this.#violations.push(`${operation} was sent without ${missing.join(', ')} on record`);
  }

  #knows(object: KubeObject | undefined): boolean {
    const { latest, versions } = this.witness;
    if (object === undefined || latest === undefined) return object === latest;
    return versions.some(({ metadata }) => metadata.resourceVersion === object.metadata.resourceVersion);
  }
}

/** A call is held up for so long at most; the manager gives up on it after 10 s. */
const LONGEST_LAG_MS = 5_000;
const CREATIONS: ReadonlySet<string> = new Set(['CreateRole', 'CreateFargateProfile']);
const ENDS_OF_READY: ReadonlySet<string> = new Set(['CreateFargateProfile', 'DeleteFargateProfile']);
const TOLD: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Deleting']);
