import { PLURAL } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { json } from '../../../pkg/kube/testing/fake-api-server.ts';
import { changeRole } from '../../aws/model/iam-state.ts';
import type { KernelWorld, WorldOptions } from '../world.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE, SECOND } from '../world.ts';

/** The object that a phase is about. */
export const WEB = 'web';
export const PROFILE = `default_${WEB}`;
export const ROLE = `${CLUSTER}-default_${WEB}_fargate`;

export const HOUR: Ms = 60 * MINUTE;

/** A situation that an object can be in, and the way out of it. */
export interface Phase {
  /** Also the name of the golden text. */
  readonly name: string;
  /** Ends the sentence: "kubectl describe tells of …". */
  readonly says: string;
  readonly options?: WorldOptions;
  /** Brings {@link WEB} there, and starts the manager. */
  readonly arrange: (world: KernelWorld) => void | Promise<void>;
  /** The condition by which it is known that it is there. */
  readonly until: readonly [type: string, status: string, reason?: string];
  /**
   * How long it has been like that when somebody reads it. Default an hour: what needs a human is read late, and must
   * not have been told again and again by then.
   */
  readonly readAfter?: Ms;
  /** What the text says is to be done; absent: nothing, it goes on by itself. */
  readonly cure?: (world: KernelWorld) => void | Promise<void>;
  /** What it comes to then. Default `Ready`, or `gone` where it is being deleted; `nothing`: it stays until it is deleted. */
  readonly comesTo?: 'Ready' | 'gone' | 'nothing';
}

/** Long enough for a pass and its events, too short for anything that AWS has to do. */
export const AT_ONCE: Ms = 2 * SECOND;

export const patchWeb = (world: KernelWorld, change: object): void => world.patch(PLURAL, WEB, change);
export const patchCluster = (world: KernelWorld, change: object): void => world.patch('clusters', CLUSTER, change);
export const patchControlPlane = (world: KernelWorld, change: object): void =>
  world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, change);

/** Has the object looked at at once, as anybody's annotation does. */
export const lookAgain = (world: KernelWorld): void =>
  patchWeb(world, { metadata: { annotations: { look: String(world.clock.now()) } } });

/** The manager runs, and the object is applied. */
export function applied(world: KernelWorld, spec: object = {}): void {
  world.start();
  world.applyWith(WEB, spec);
}

/** The same, and it is Ready. */
export async function ready(world: KernelWorld, spec: object = {}): Promise<void> {
  applied(world, spec);
  await world.ready(WEB);
  // kubectl orders Events by whole seconds: what happens next is to stand after what has happened.
  await world.clock.advance(2 * SECOND);
}

const HELD = 'test.example.com/held';

/** Deletes an object that something else keeps. */
export function deleteHeld(world: KernelWorld, plural: string, name: string): void {
  const finalizers = world.object(plural, name)?.metadata.finalizers ?? [];
  world.patch(plural, name, { metadata: { finalizers: [...finalizers, HELD] } });
  world.remove(plural, name);
}

/** What else kept it keeps it no longer. */
export function letGo(world: KernelWorld): void {
  for (const plural of ['clusters', 'awsmanagedcontrolplanes']) {
    for (const { metadata } of world.objects(plural)) {
      const finalizers = metadata.finalizers?.filter((each) => each !== HELD) ?? [];
      world.patch(plural, metadata.name, { metadata: { finalizers } });
    }
  }
}

/** Takes an object away, whatever holds it. */
export function lose(world: KernelWorld, plural: string, name: string): void {
  world.patch(plural, name, { metadata: { finalizers: null } });
  world.remove(plural, name);
}

/** Somebody else's profile in the same cluster, as it is for good. */
export const putTheirs = (world: KernelWorld, name: string, over: object = {}): void => {
  world.aws.admin.putProfile({
    cluster: EKS_CLUSTER,
    name,
    podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
    ...over,
  });
};

export const denyTo = (world: KernelWorld, action: string): void => world.aws.admin.deny({ principal: '*', action });

/** As the API server words the lack of a permission. */
export const FORBIDDEN =
  'awsfargateprofiles.infrastructure.cluster.x-k8s.io "web" is forbidden: User "system:serviceaccount:capaf-system:capaf-manager" ' +
  'cannot patch resource "awsfargateprofiles" in API group "infrastructure.cluster.x-k8s.io" in the namespace "default"';

/** The API server refuses to have objects of that path patched. */
export function refusePatches(world: KernelWorld, of: RegExp, code: 403 | 409 | 500, message: string): void {
  const reason = { 403: 'Forbidden', 409: 'Conflict', 500: 'InternalError' }[code];
  world.api.intercept = ({ method, path }) =>
    method === 'PATCH' && of.test(path)
      ? json(code, { kind: 'Status', status: 'Failure', reason, code, message })
      : undefined;
}

export const takePatches = (world: KernelWorld): void => {
  world.api.intercept = () => undefined;
};

/** The API server serves Clusters (again). */
export const serveClusters = (world: KernelWorld): void =>
  world.api.serve({ group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster', versions: ['v1beta2'] });

/** Changes a role as somebody with a console would. */
export function changeInIam(world: KernelWorld, name: string, change: Parameters<typeof changeRole>[2]): void {
  const role = world.aws.model.world.account(ACCOUNT, 'aws').roles.get(name.toLowerCase());
  if (role === undefined) throw new Error(`there is no role ${name}`);
  changeRole(role, world.clock.now(), change);
}
