import type { Ms } from 'controller-runtime/env';
import type { StoredEvent } from 'controller-runtime/testing';
import type { CallRecord } from '../../aws/call-log.ts';
import { CAPA_FINALIZER } from '../../world/cluster-api/capa-simulator.ts';
import { CAPA_TRUST, EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, NAMESPACE } from '../world/cluster.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { type AccountSnapshot, type ProfileResources, TeardownChecks } from './teardown-checks.ts';

const CLUSTER_FINALIZER = 'cluster.cluster.x-k8s.io';
const SHARED_ROLE = 'shared-pods';
const FOREIGN_ROLE = 'brought-along';
/** The delay with which the simulated controllers of Cluster API react to a change of a Cluster or control plane. */
const REACTION: Ms = 10;
/**
 * The time after which the simulated Cluster API Provider AWS calls DeleteCluster again, when EKS has refused the
 * deletion.
 */
const BACKOFF: Ms = 500;

const nameOf = (object: string): string => `${NAMESPACE}_${object}`;

const RESOURCES: readonly ProfileResources[] = [
  { object: 'first', profile: nameOf('first'), role: SHARED_ROLE, isRoleOurs: true },
  { object: 'second', profile: nameOf('second'), role: SHARED_ROLE, isRoleOurs: true },
  { object: 'own', profile: nameOf('own'), role: `${CLUSTER}-${nameOf('own')}_fargate`, isRoleOurs: true },
  { object: 'foreign', profile: nameOf('foreign'), role: FOREIGN_ROLE, isRoleOurs: false },
];

/**
 * A simulated deletion of a Cluster with four AWSFargateProfiles: two share an IAM role, one has its own role, and one
 * uses a role that the manager does not own. The class also does the work of Cluster API's core manager and of Cluster
 * API Provider AWS, and records what goes wrong.
 */
export class SimulatedTeardown {
  readonly world: SimulatedWorld;
  readonly #checks = new TeardownChecks(RESOURCES);
  readonly #violations = new Set<string>();
  #isDeleting = false;
  #isScheduled = false;

  constructor(world: SimulatedWorld) {
    this.world = world;
    const { arn } = world.aws.admin.putRole({
      name: FOREIGN_ROLE,
      trustPolicy: CAPA_TRUST,
      attachedPolicies: [EKS_POLICY],
    });
    world.patch('clusters', CLUSTER, { metadata: { finalizers: [CLUSTER_FINALIZER] } });
    world.patch('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name, {
      metadata: { finalizers: [CAPA_FINALIZER] },
    });
    world.api.storage.listen((event) => this.#onChange(event));
    world.aws.onCall((call, phase) => this.#onCall(call, phase));
    for (const name of ['first', 'second']) world.applyWith(name, { roleName: SHARED_ROLE });
    world.applyWith('own', {
      roleAdditionalPolicies: ['arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy'],
    });
    world.applyWith('foreign', { roleARN: arn });
  }

  async untilReady(): Promise<void> {
    await this.world.ready(...RESOURCES.map(({ object }) => object));
  }

  /** Deletes the Cluster, and waits until it and all its objects are gone. */
  async deleteCluster(): Promise<void> {
    const { world } = this;
    this.#isDeleting = true;
    world.remove('clusters', CLUSTER);
    await world.until('the Cluster gone', () => world.objects('clusters').length === 0);
    await world.gone(...RESOURCES.map(({ object }) => object));
  }

  /** Returns descriptions of everything that was wrong at some moment of the deletion of the Cluster. */
  violations(): readonly string[] {
    return [...this.#violations, ...this.#checks.violations];
  }

  #onCall(call: CallRecord, phase: 'before' | 'after'): void {
    this.#checks.recordAws(this.#snapshot());
    if (this.#isDeleting && phase === 'before' && call.mutates) this.#checkMutation(call);
  }

  /**
   * Records a violation if an AWS call changes an IAM role that a Fargate profile still uses, or a resource that the
   * manager does not own.
   */
  #checkMutation({ operation, identifiers }: CallRecord): void {
    const { fargateProfileName: profile, principalArn } = identifiers;
    const role = identifiers['RoleName'] ?? principalArn?.split('/').at(-1);
    const users = this.world.aws.admin.profiles().filter(({ podExecutionRoleArn: arn }) => arn.endsWith(`/${role}`));
    for (const { name } of users) this.#violations.add(`${operation} of ${role} under profile ${name}`);
    const isOurs = RESOURCES.some((each) => each.profile === profile || (each.isRoleOurs && each.role === role));
    if (!isOurs) this.#violations.add(`${operation} of ${role ?? profile}, which is foreign`);
  }

  #snapshot(): AccountSnapshot {
    const { admin } = this.world.aws;
    return {
      profiles: new Map(admin.profiles().map((profile) => [profile.name, profile])),
      roles: new Map(admin.roles().map((role) => [role.name, role])),
    };
  }

  #onChange(event: StoredEvent): void {
    this.#checks.checkEvent(event, this.#snapshot());
    const { plural } = event.kind;
    if (plural === 'clusters' || plural === 'awsmanagedcontrolplanes') this.#scheduleOthers(REACTION);
  }

  /** Runs the simulated controllers of Cluster API once, after a delay. */
  #scheduleOthers(after: Ms): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.world.clock.after(after, () => {
      this.#isScheduled = false;
      this.#reconcileOthers();
    });
  }

  #reconcileOthers(): void {
    const [cluster] = this.world.objects('clusters');
    const [controlPlane] = this.world.objects('awsmanagedcontrolplanes');
    if (controlPlane?.metadata.deletionTimestamp !== undefined)
      this.#deleteEksCluster(controlPlane.metadata.finalizers);
    if (cluster?.metadata.deletionTimestamp === undefined) return;
    if (controlPlane === undefined) this.world.patch('clusters', CLUSTER, { metadata: { finalizers: null } });
    else if (controlPlane.metadata.deletionTimestamp === undefined)
      this.world.remove('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
  }

  /**
   * Deletes the EKS cluster, and then removes the finalizer of Cluster API Provider AWS from the control plane. EKS
   * refuses the deletion of a cluster with Fargate profiles. In this case the simulated controller tries again later.
   */
  #deleteEksCluster(finalizers: readonly string[] = []): void {
    if (!finalizers.includes(CAPA_FINALIZER)) return;
    const { admin } = this.world.aws;
    if (admin.profiles().some(({ cluster }) => cluster === EKS_CLUSTER)) {
      this.#scheduleOthers(BACKOFF);
      return;
    }
    admin.removeCluster({ name: EKS_CLUSTER });
    const left = finalizers.filter((each) => each !== CAPA_FINALIZER);
    this.world.patch('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name, { metadata: { finalizers: left } });
  }
}
