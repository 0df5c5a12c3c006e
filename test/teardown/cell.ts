import type { CallRecord } from '../aws/call-log.ts';
import type { ProfileStatus } from '../aws/model/state.ts';
import type { ProfileView, RoleView } from '../aws/views.ts';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import type { AuditEvent } from '../world/audit.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/from-capa.ts';
import { STATIC, createStaticIdentity } from '../world/identities.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { createManagedCluster, managedCluster } from '../world/managed-cluster.ts';
import type { World } from '../world/world.ts';
import { fargateProfile } from '../world/world.ts';
import type { Ends } from './ends.ts';
import type { Party, Seen } from './judge.ts';
import { findingsOf } from './judge.ts';
import type { Moment } from './moment.ts';

/** In every account one of this name: they are not the same. */
const SHARED_ROLE = 'shared-pods';
const FOREIGN_ROLE = 'brought-along';
const NEIGHBOUR = 'neighbour';
const POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
/** As what a profile is seen first after EKS took a change of it. */
const BEGUN: Readonly<Record<string, ProfileStatus>> = {
  CreateFargateProfile: 'CREATING',
  DeleteFargateProfile: 'DELETING',
};
const PATIENCE_MS = 60_000;

/**
 * One Cluster with four profiles and an AWS account and credentials of its own: which calls are made for it is known from
 * their credentials. Two of the profiles share a role, one has a role of its own, one uses a role that somebody else made.
 *
 * Deletions are driven by looks instead of time: each manager sees one under way once, and by its next look EKS has ended it.
 * So a teardown makes the same calls however busy the machine is.
 */
export class TeardownCell {
  readonly account: string;
  readonly cluster: ManagedCluster;
  readonly #world: World;
  readonly #party: Party;
  readonly #sights: Seen[] = [];
  readonly #calls: CallRecord[] = [];
  readonly #violations = new Set<string>();
  #accessKeyId = '';
  #isBegun = false;
  #foreignBefore = '';
  #moment: Moment | undefined;
  #kill: () => Promise<void> = async () => {};
  /** Of the manager: what is sent while it is ending gets lost. */
  #life: 'first' | 'ending' | 'second' = 'first';
  #ending: Promise<void> | undefined;
  #arrivals = 0;
  #count = 0;
  #changes = 0;
  #struck: CallRecord | undefined;
  /** The deletions under way that the manager at work has seen, by ARN. */
  #deletionsSeen = new Set<string>();

  constructor(world: World, number: number, namespace: string) {
    this.#world = world;
    this.account = String(100_000_000_000 + number);
    this.cluster = managedCluster(`c${number}`, namespace);
    const profileOf = (object: string): string => `${namespace}_${object}`;
    const [first, second, own, foreign] = ['first', 'second', 'own', 'foreign'].map((each) => `c${number}-${each}`);
    const standing = (object = '', role = '', isRoleOurs = true) => ({
      object,
      role,
      isRoleOurs,
      profile: profileOf(object),
    });
    this.#party = {
      namespace,
      cluster: this.cluster.name,
      controlPlane: `${this.cluster.name}-control-plane`,
      profiles: [
        standing(first, SHARED_ROLE),
        standing(second, SHARED_ROLE),
        standing(own, `${this.cluster.name}-${profileOf(String(own))}_fargate`),
        standing(foreign, FOREIGN_ROLE, false),
      ],
    };
  }

  /** Makes everything, and waits until all four are Ready. */
  async open(): Promise<void> {
    const { account, cluster } = this;
    const { namespace, name } = cluster;
    const { admin } = this.#world.aws;
    this.#accessKeyId = (await createStaticIdentity(this.#world, name, account)).accessKeyId;
    const trustPolicy = CAPA_TRUST;
    const role = admin.putRole({ account, name: FOREIGN_ROLE, trustPolicy, attachedPolicies: [EKS_POLICY] });
    // Another cluster of the account, which has to stay as it is.
    admin.createCluster({ account, name: NEIGHBOUR });
    admin.putProfile({ account, cluster: NEIGHBOUR, name: 'theirs', podExecutionRoleArn: role.arn });
    await createManagedCluster(this.#world, name, { namespace, account, identityRef: { kind: STATIC, name } });
    const specs = [
      { roleName: SHARED_ROLE },
      { roleName: SHARED_ROLE },
      { roleAdditionalPolicies: [POLICY] },
      { roleARN: role.arn },
    ];
    const { profiles } = this.#party;
    await this.#world.apply(
      ...profiles.map(({ object }, index) =>
        fargateProfile(object, { clusterName: name, ...specs[index] }, { namespace }),
      ),
    );
    await Promise.all(profiles.map(({ object }) => this.#world.ready(object, { namespace, timeoutMs: PATIENCE_MS })));
  }

  /** Deletes the Cluster as a user does; `kill` is called at the moment, and resolves when the manager is dead. */
  async begin(moment: Moment, kill: () => Promise<void>): Promise<void> {
    this.#moment = moment;
    this.#kill = kill;
    this.#foreignBefore = this.#foreign();
    this.#isBegun = true;
    await this.#world.controlPlane.api.delete(this.cluster.clusterPath);
  }

  /** Waits until the manager has been killed, or everything is gone without that. */
  async untilDeadOrOver(): Promise<void> {
    const isDeadOrOver = async (): Promise<boolean> => this.#struck !== undefined || this.#isOver();
    await this.#until('the moment', isDeadOrOver);
    await this.#ending;
  }

  /** Waits for the end of everything. */
  async untilOver(): Promise<void> {
    await this.#until('the end of the Cluster', () => this.#isOver());
  }

  /** What is wrong in the end, and what was on the way there. */
  wrong(audit: readonly AuditEvent[], ends: Ends): readonly string[] {
    const { eksName } = this.cluster;
    const clusters = this.#world.aws.admin
      .clusters()
      .filter(({ account, name }) => account === this.account && name === eksName);
    const roles = this.#roles().filter(({ foreign }) => !foreign);
    return [
      ...this.#violations,
      ...[...clusters, ...this.#profiles(), ...roles].map(({ arn }) => `left in AWS: ${arn}`),
      ...(this.#foreign() === this.#foreignBefore ? [] : [`of others: ${this.#foreign()}, not ${this.#foreignBefore}`]),
      ...findingsOf(this.#party, { audit, ends, sights: this.#sights }),
    ];
  }

  /** How many profiles the cluster has. */
  get size(): number {
    return this.#party.profiles.length;
  }

  /** How many calls have come since there is the cell. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** What was called since the beginning of the teardown and got to AWS, in order. */
  get calls(): readonly CallRecord[] {
    return this.#calls;
  }

  /** The call at which the manager was killed. */
  get struck(): CallRecord | undefined {
    return this.#struck;
  }

  close(): void {
    this.#world.aws.admin.removeCluster({ account: this.account, name: NEIGHBOUR });
  }

  /** To be told of each call in the account. */
  async onCall(call: CallRecord, phase: 'before' | 'after'): Promise<'lost' | undefined> {
    if (call.accessKeyId !== this.#accessKeyId) return undefined;
    if (phase === 'before') {
      this.#arrivals += 1;
      if (call.operation === 'DescribeFargateProfile') this.#endDeletion(call);
      this.#look();
    } else this.#lookAfter(call, this.#sights.at(-1));
    if (!this.#isBegun) return undefined;
    if (phase === 'after') {
      this.#calls.push(call);
      if (this.#struck?.seq === call.seq) await this.#die();
      return undefined;
    }
    if (this.#life === 'ending') return this.#lose();
    this.#count += 1;
    if (call.mutates) this.#changes += 1;
    if (this.#isIt(call)) {
      this.#life = 'ending';
      this.#struck = call;
      if (this.#moment?.lost === 'request') return this.#lose();
    }
    if (call.mutates) this.#expectNoHarm(call);
    return undefined;
  }

  /** For people, when something went wrong. */
  async tell(): Promise<string> {
    const objects = await Promise.all(
      this.#party.profiles.map(({ object }) => this.#world.profile(object, this.cluster.namespace)),
    );
    const said = objects
      .filter((object) => object !== undefined)
      .map(({ metadata, status }) => {
        const words = (status?.conditions ?? []).map(({ type, status: is, reason, message }) =>
          [type, is, reason, message].join(' '),
        );
        return `${metadata.name}: ${words.join('; ')}`;
      });
    return [`  ${this.cluster.name}`, `calls: ${this.#calls.map(callText).join(', ')}`, ...said].join('\n    ');
  }

  #isIt({ mutates }: CallRecord): boolean {
    if (this.#life !== 'first') return false;
    return this.#moment?.of === 'call'
      ? this.#count === this.#moment.nth
      : mutates && this.#changes === this.#moment?.nth;
  }

  #die(): Promise<void> {
    this.#ending ??= this.#kill().then(() => {
      this.#life = 'second';
      this.#deletionsSeen = new Set();
    });
    return this.#ending;
  }

  #endDeletion({ nouns: { clusterName, fargateProfileName } }: CallRecord): void {
    const { account, cluster } = this;
    const deleted = this.#profiles().find(({ name, status }) => name === fargateProfileName && status === 'DELETING');
    if (deleted === undefined || clusterName !== cluster.eksName || this.#life === 'ending') return;
    if (!this.#deletionsSeen.has(deleted.arn)) this.#deletionsSeen.add(deleted.arn);
    else this.#world.aws.admin.removeProfile({ account, cluster: cluster.eksName, name: deleted.name });
  }

  async #lose(): Promise<'lost'> {
    await this.#die();
    return 'lost';
  }

  /** A role goes after the profiles that use it, a policy of it too; and only what is ours is ever changed. */
  #expectNoHarm({ operation, nouns }: CallRecord): void {
    const { RoleName: role, fargateProfileName: profile, clusterName } = nouns;
    const users = this.#profiles().filter(
      ({ podExecutionRoleArn: arn }) => role !== undefined && arn.endsWith(`/${role}`),
    );
    for (const { name } of users) this.#violations.add(`${operation} of ${role} under profile ${name}`);
    const isOurs = this.#party.profiles.some(
      (each) =>
        (each.isRoleOurs && each.role === role) || (each.profile === profile && clusterName === this.cluster.eksName),
    );
    if (!isOurs) this.#violations.add(`${operation} of ${role ?? profile}, which is somebody else's`);
  }

  #look(): Seen {
    const seen = {
      at: Date.now(),
      profiles: new Map(this.#profiles().map((profile) => [profile.name, profile])),
      roles: new Map(this.#roles().map((role) => [role.name, role])),
    };
    this.#sights.push(seen);
    return seen;
  }

  /** On a busy machine what EKS has just begun may have ended by the time it is looked at. */
  #lookAfter({ operation, applied, nouns }: CallRecord, before: Seen | undefined): void {
    const name = nouns['fargateProfileName'] ?? '';
    const status = applied ? BEGUN[operation] : undefined;
    const { at, profiles, roles } = this.#look();
    const profile = profiles.get(name) ?? before?.profiles.get(name);
    if (status === undefined || profile === undefined) return;
    const begun = { at, roles, profiles: new Map([...profiles, [name, { ...profile, status }]]) };
    this.#sights.splice(-1, 0, begun);
  }

  #profiles(): readonly ProfileView[] {
    const { eksName } = this.cluster;
    return this.#world.aws.admin.profiles({ account: this.account }).filter(({ cluster }) => cluster === eksName);
  }

  #roles(): readonly RoleView[] {
    return this.#world.aws.admin.roles({ account: this.account });
  }

  /** All that belongs to others. */
  #foreign(): string {
    const all = [...this.#world.aws.admin.profiles({ account: this.account }), ...this.#roles()];
    return JSON.stringify(all.filter(({ foreign }) => foreign));
  }

  async #isOver(): Promise<boolean> {
    const { api } = this.#world.controlPlane;
    const { clusterPath, controlPlanePath, infrastructurePath, namespace } = this.cluster;
    for (const path of [clusterPath, controlPlanePath, infrastructurePath]) if (await api.exists(path)) return false;
    const profiles = this.#party.profiles.map(({ object }) => this.#world.profile(object, namespace));
    return (await Promise.all(profiles)).every((profile) => profile === undefined);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await eventually(isSo, { what, timeoutMs: PATIENCE_MS }).catch(async (error: unknown) => {
      throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}\n${await this.tell()}`, { cause: error });
    });
  }
}

/** In which account the EKS cluster of a control plane is. */
export const accountOf = ({ metadata }: KubeObject): string =>
  String(100_000_000_000 + Number(/^c(\d+)-control-plane$/.exec(metadata.name)?.[1]));

export const callText = ({ operation, nouns, errorCode = '' }: CallRecord): string =>
  [operation, nouns['fargateProfileName'] ?? nouns['RoleName'] ?? '', errorCode].join(' ').trim();
