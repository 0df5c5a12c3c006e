import type { TransportRequest } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { json } from 'controller-runtime/testing';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { changeRole } from '../../aws/model/iam/role-changes.ts';
import { CAPA_TRUST, EKS_POLICY, capaTags } from '../../world/aws/capa-resources.ts';
import type { SimulatedWorld, SimulationOptions } from '../world/simulated-world.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, HOUR, MINUTE, SECOND } from '../world/cluster.ts';

/** The name of the AWSFargateProfile that the tests bring into each situation. */
export const WEB = 'web';
export const PROFILE = `default_${WEB}`;
export const ROLE = `${CLUSTER}-default_${WEB}_fargate`;

export const ROLE_ARN = `arn:aws:iam::${ACCOUNT}:role/${ROLE}`;

/** A situation of an AWSFargateProfile that its user sees, and the remedy for it. */
export interface Phase {
  /** The name of the golden file, without the extension `.golden`. */
  readonly name: string;
  /** The title of the mocha test. It completes the sentence "an AWSFargateProfile shows …". */
  readonly title: string;
  readonly options?: SimulationOptions;
  /** Fields of the spec of the AWSFargateProfile {@link WEB}; `clusterName` and `selectors` have defaults. */
  readonly spec?: object;
  /** Prepares the world before the manager starts and the AWSFargateProfile is created. */
  readonly before?: (world: SimulatedWorld) => void;
  /** Changes the world after the AWSFargateProfile has become Ready. */
  readonly after?: (world: SimulatedWorld) => void | Promise<void>;
  /**
   * Like `after`, but the manager compares every AWSFargateProfile with AWS once a minute, and the AWSFargateProfile
   * has been Ready for five minutes.
   */
  readonly afterWatched?: (world: SimulatedWorld) => void | Promise<void>;
  /**
   * Replaces the four fields above if they cannot describe the situation. Starts the manager, and brings the
   * AWSFargateProfile into the situation.
   */
  readonly arrange?: (world: SimulatedWorld) => void | Promise<void>;
  /** The condition by which the test recognizes that the AWSFargateProfile is in the situation. */
  readonly until: readonly [type: string, status: string, reason?: string];
  /**
   * How long the test leaves the AWSFargateProfile in the situation before it compares the object with the golden file.
   * The default is half an hour, because users notice problems late. The manager must not repeat its Events within this
   * time.
   */
  readonly readAfter?: Ms;
  /** Does what the message in the golden file asks the user to do; undefined: the situation ends without a user. */
  readonly remedy?: (world: SimulatedWorld) => void | Promise<void>;
  /**
   * The state of the AWSFargateProfile for which the test waits after the remedy. The default is `Ready`, or `gone` if
   * the AWSFargateProfile is being deleted. With `nothing`, the test waits for no state.
   */
  readonly endsAs?: 'Ready' | 'gone' | 'nothing';
}

/** Situations by the names of their golden files. */
export type Phases = Readonly<Record<string, Omit<Phase, 'name'>>>;

/**
 * A time that is long enough for one reconcile and its Events, and shorter than the creation or deletion of any Fargate
 * profile.
 */
export const AT_ONCE: Ms = 2 * SECOND;

export function isInPhase(world: SimulatedWorld, { until: [type, status, reason] }: Phase): boolean {
  const found = world.condition(WEB, type);
  return found?.status === status && (reason === undefined || found.reason === reason);
}

/**
 * Brings the AWSFargateProfile {@link WEB} into the situation of the phase, and leaves it there for the time {@link
 * Phase.readAfter}, but at most for the time `limit`.
 */
export async function bringIntoPhase(world: SimulatedWorld, phase: Phase, limit: Ms = HOUR): Promise<void> {
  const { arrange, until, readAfter = 30 * MINUTE } = phase;
  await (arrange === undefined ? arrangeByFields(world, phase) : arrange(world));
  await world.until(until.join(' '), () => isInPhase(world, phase), HOUR);
  await world.clock.advance(Math.max(Math.min(readAfter, limit), AT_ONCE));
}

/** Brings the AWSFargateProfile into the situation of a phase without `arrange`. */
async function arrangeByFields(world: SimulatedWorld, { spec, before, after, afterWatched }: Phase): Promise<void> {
  before?.(world);
  if (after !== undefined) {
    await startUntilReady(world, spec);
    await after(world);
  } else if (afterWatched !== undefined) {
    await startAndWatch(world, spec);
    await afterWatched(world);
  } else startAndApply(world, spec);
}

export const patchWeb = (world: SimulatedWorld, change: object): void => world.patch(PLURAL, WEB, change);
export const patchCluster = (world: SimulatedWorld, change: object): void => world.patch('clusters', CLUSTER, change);
export const patchControlPlane = (world: SimulatedWorld, change: object): void =>
  world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, change);

export function startAndApply(world: SimulatedWorld, spec: object = {}): void {
  world.start();
  world.applyWith(WEB, spec);
}

export async function startUntilReady(world: SimulatedWorld, spec: object = {}): Promise<void> {
  startAndApply(world, spec);
  await world.ready(WEB);
  // kubectl sorts Events by whole seconds, so this pause gives the next Event a later second.
  await world.clock.advance(2 * SECOND);
}

/**
 * Starts a manager that compares every AWSFargateProfile with AWS once a minute. Creates an AWSFargateProfile, and
 * waits until it has been Ready for five minutes.
 */
async function startAndWatch(world: SimulatedWorld, spec: object = {}): Promise<void> {
  world.start('--sync-period', '1m');
  world.applyWith(WEB, spec);
  await world.ready(WEB);
  await world.clock.advance(5 * MINUTE);
}

const HELD = 'test.example.com/held';

/**
 * Adds a test finalizer to an object and then deletes the object, so that the object stays with a deletionTimestamp.
 */
export function deleteHeld(world: SimulatedWorld, plural: string, name: string): void {
  const finalizers = world.object(plural, name)?.metadata.finalizers ?? [];
  world.patch(plural, name, { metadata: { finalizers: [...finalizers, HELD] } });
  world.remove(plural, name);
}

/** Removes the test finalizers that {@link deleteHeld} has added to Clusters and control planes. */
export function removeHeldFinalizers(world: SimulatedWorld): void {
  for (const plural of ['clusters', 'awsmanagedcontrolplanes']) {
    for (const { metadata } of world.objects(plural)) {
      const finalizers = metadata.finalizers?.filter((each) => each !== HELD) ?? [];
      world.patch(plural, metadata.name, { metadata: { finalizers } });
    }
  }
}

/** Removes an object from the API server immediately, even if it has finalizers. */
export function removeAtOnce(world: SimulatedWorld, plural: string, name: string): void {
  world.patch(plural, name, { metadata: { finalizers: null } });
  world.remove(plural, name);
}

/** Adds to the EKS cluster a Fargate profile that the manager does not own. */
export const putForeignProfile = (world: SimulatedWorld, name: string, over: object = {}): void => {
  world.aws.admin.putProfile({
    cluster: EKS_CLUSTER,
    name,
    podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
    ...over,
  });
};

/** Creates in AWS the resources of the AWSFargateProfile {@link WEB} as Cluster API Provider AWS does. */
export function putCapaResources(world: SimulatedWorld, profileName: string, roleName: string) {
  const given = { tags: capaTags(CLUSTER), foreign: false };
  const settings = { trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] };
  const role = world.aws.admin.putRole({ name: roleName, ...settings, ...given });
  const profile = world.aws.admin.putProfile({
    cluster: EKS_CLUSTER,
    name: profileName,
    podExecutionRoleArn: role.arn,
    selectors: [{ namespace: WEB, labels: {} }],
    ...given,
  });
  return { profile, role };
}

export const denyAction = (world: SimulatedWorld, action: string): void =>
  world.aws.admin.deny({ principal: '*', action });

/** The error of the API server when RBAC does not allow the manager to patch AWSFargateProfiles. */
export const FORBIDDEN =
  'awsfargateprofiles.infrastructure.cluster.x-k8s.io "web" is forbidden: User "system:serviceaccount:capaf-system:capaf-manager" ' +
  'cannot patch resource "awsfargateprofiles" in API group "infrastructure.cluster.x-k8s.io" in the namespace "default"';

/** Makes the API server refuse every later request with this HTTP method and a path that matches the pattern. */
export function refuseRequests(
  world: SimulatedWorld,
  method: TransportRequest['method'],
  path: RegExp,
  code: 403 | 409 | 500,
  message: string,
): void {
  const reason = { 403: 'Forbidden', 409: 'Conflict', 500: 'InternalError' }[code];
  world.api.intercept = (request) =>
    request.method === method && path.test(request.path)
      ? json(code, { kind: 'Status', status: 'Failure', reason, code, message })
      : undefined;
}

export const acceptRequests = (world: SimulatedWorld): void => {
  world.api.intercept = () => undefined;
};

export const serveClusters = (world: SimulatedWorld): void =>
  world.api.serve({ group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster', versions: ['v1beta2'] });

/** Changes an IAM role without the manager, as a user of the AWS console does. */
export function changeRoleByHand(world: SimulatedWorld, name: string, change: Parameters<typeof changeRole>[2]): void {
  const role = world.aws.model.state.account(ACCOUNT, 'aws').roles.get(name.toLowerCase());
  if (role === undefined) throw new Error(`there is no role ${name}`);
  changeRole(role, world.clock.now(), change);
}

/** Sets the roles of an instance profile without the manager. IAM allows at most one role. */
export function putInstanceProfile(world: SimulatedWorld, name: string, roles: readonly string[]): void {
  const arn = `arn:aws:iam::${ACCOUNT}:instance-profile/${name}`;
  const profile = { name, path: '/', arn, id: 'AIPAEXAMPLE', createdAt: world.clock.now(), roles };
  world.aws.model.state.account(ACCOUNT, 'aws').instanceProfiles.set(name, profile);
}
