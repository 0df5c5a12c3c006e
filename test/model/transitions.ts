import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, type UnknownRecord } from 'controller-runtime/json';
import { type Objects, stored, withChange, withDeletion } from './api-server.ts';
import {
  type Aws,
  failed,
  isAwsRead,
  ownedBy,
  shown,
  TRUST_REFUSED,
  userOf,
  withEnd,
  withoutPod,
  withProfile,
} from './aws.ts';
import { type Answer, type Answered, type Memory, NO_MEMORY, type ReconcileStart, type Request } from './reconcile.ts';
import { aged, once } from './time.ts';
import { findHarm, isDeleting } from './safety.ts';
import type { Continued, Passes } from './passes.ts';
import {
  CLUSTER_PATH,
  CONTROL_PLANE_PATH,
  type Manager,
  type SimulatedReconcile,
  pathOf,
  type World,
} from './world.ts';

/** A fault of AWS, of the API server, of the network, or of a manager. */
export type Fault = 'answerLost' | 'requestLost' | 'crash' | 'restartBehind' | 'eksFails' | keyof typeof REFUSALS;

/** A change that a user or another client may make while the scenario's limit of actions permits it. */
export interface Action {
  readonly label: string;
  /** Returns the world after the action; undefined: the action is not possible now. */
  readonly apply: (world: World) => World | undefined;
}

export interface Scenario {
  readonly name: string;
  /** What the scenario is about, for the report. */
  readonly about: string;
  readonly profiles: readonly string[];
  readonly managers: readonly { readonly profiles: readonly string[]; readonly watchFilter?: string }[];
  readonly start: World;
  /** Actions after which the controller comes to rest before the exploration begins. */
  readonly before: readonly Action[];
  readonly actions: readonly Action[];
  readonly faults: readonly Fault[];
  /** The reasons of `Stalled` with which an object may rest in this scenario, because a user has to act. */
  readonly stalls: readonly string[];
  /**
   * The number of transitions after which the exploration ends, because the scenario has too many states; undefined: no
   * limit.
   */
  readonly mostTransitions?: number;
}

/**
 * - `fair`: the transition happens eventually if it stays possible. `agent` names who makes it.
 * - `free`: an action or a fault, which may never happen.
 */
export interface Transition {
  readonly kind: 'fair' | 'free';
  readonly agent: string;
  readonly label: string;
  readonly world: World;
  /** The property that the transition breaks; undefined: none. */
  readonly harm?: string | undefined;
  readonly events?: readonly string[] | undefined;
}

const PROFILES = 'awsfargateprofiles';

export async function transitionsFrom(
  world: World,
  scenario: Scenario,
  passes: Passes,
): Promise<readonly Transition[]> {
  const all: Transition[] = [];
  for (const [index, manager] of world.managers.entries()) {
    if (manager.reconcile === undefined) await addStarts(all, world, index, scenario, passes);
    else await addAnswers(all, world, index, manager.reconcile, scenario, passes);
  }
  addProgress(all, world, scenario);
  if (world.ledger.actions > 0) {
    for (const { label, apply } of scenario.actions) {
      const after = apply(world);
      if (after === undefined) continue;
      const ledger = { ...after.ledger, actions: world.ledger.actions - 1 };
      all.push({ kind: 'free', agent: '', label, world: { ...after, ledger } });
    }
  }
  return all;
}

async function addStarts(
  all: Transition[],
  world: World,
  index: number,
  { managers }: Scenario,
  passes: Passes,
): Promise<void> {
  const manager = world.managers[index];
  const { watchFilter, profiles: own = [] } = managers[index] ?? {};
  if (manager === undefined) return;
  const { cache, memory, asleep } = manager;
  const begin = async (controller: ReconcileStart['controller'], name: string): Promise<void> => {
    const start: ReconcileStart = { controller, name, watchFilter, memory, cache };
    const verb = controller === 'profile' ? 'looks at' : 'looks at the deletion of Cluster';
    const label = `manager ${index + 1} ${verb} ${name}`;
    all.push(afterStep(world, index, start, await passes.begun(start), label));
  };
  for (const name of own) {
    const isKnown = cache[pathOf(name)] !== undefined || memory.retries[name] !== undefined;
    if (isKnown && !asleep.includes(name)) await begin('profile', name);
  }
  if (!asleep.includes('prod') && index === 0) await begin('teardown', 'prod');
}

async function addAnswers(
  all: Transition[],
  world: World,
  index: number,
  reconcile: SimulatedReconcile,
  { faults }: Scenario,
  passes: Passes,
): Promise<void> {
  const { requests, start } = reconcile;
  const who = `manager ${index + 1}`;
  const done = carriedOut(world, reconcile, passes);
  const says = requests.map(describe).join(' and ');
  const agent = `${who} at work`;
  const next = await passes.continued(reconcile, done.answered);
  all.push(
    afterStep(done.world, index, start, next, `${says}: done`, { agent, ...(done.harm && { harm: done.harm }) }),
  );
  const [request] = requests;
  if (world.ledger.faults === 0 || request === undefined) return;
  const faulty = { ...world, ledger: { ...world.ledger, faults: world.ledger.faults - 1 } };
  const isWrite = request.to === 'api' ? request.verb === 'patch' || request.verb === 'delete' : !isAwsRead(request);
  const push = async (label: string, answer: Answer, before = faulty): Promise<void> => {
    const answers = done.answered.map((each, at) => (at === 0 ? { request, answer } : each));
    const failing = await passes.continued(reconcile, answers);
    all.push(afterStep(before, index, start, failing, `${describe(request)}: ${label}`, { kind: 'free' }));
  };
  const carried = { ...done.world, ledger: { ...done.world.ledger, faults: faulty.ledger.faults } };
  const effects: (readonly [after: World, how: string])[] = isWrite ? [[carried, '']] : [];
  // If the answer to CreateFargateProfile is lost, EKS may not show the new profile yet.
  const name = request.to === 'aws' && request.call === 'CreateFargateProfile' ? request.profile.name : undefined;
  const created = name === undefined || carried.aws === world.aws ? undefined : carried.aws.profiles[name];
  if (name !== undefined && created !== undefined) {
    const unseen = withProfile(carried.aws, name, { ...created, isHidden: true });
    effects.push([{ ...carried, aws: unseen }, ', and EKS does not show it yet']);
  }
  for (const fault of faults) {
    switch (fault) {
      case 'answerLost':
        for (const [after, how] of effects) await push(`done, but the answer is lost${how}`, lost(request), after);
        break;
      case 'requestLost':
        if (isWrite) await push('the request is lost', lost(request));
        break;
      case 'crash':
        all.push(crashed(faulty, index, `${who} crashes before ${says}`));
        for (const [after, how] of effects)
          all.push({ ...crashed(after, index, `${who} crashes after ${says}${how}`), harm: done.harm });
        break;
      case 'restartBehind':
        if (isWrite)
          all.push({
            ...crashed(carried, index, `${who} crashes after ${says}, and a lagging API server lists`, start.cache),
            harm: done.harm,
          });
        break;
      case 'eksFails':
        break;
      default: {
        const { calls, says: told, status, code, message } = REFUSALS[fault];
        if (request.to === 'aws' && calls.test(request.call)) await push(told, failed(request, status, code, message));
      }
    }
  }
}

const REFUSALS = {
  denied: { calls: /./, says: 'AWS denies it', status: 403, code: 'AccessDenied', message: 'not authorized' },
  unavailable: { calls: /./, says: 'AWS is not available', status: 503, code: 'ServiceUnavailable', message: 'later' },
  clusterUpdating: {
    calls: /^(Create|Delete)FargateProfile$/,
    says: 'EKS updates the cluster',
    status: 409,
    code: 'ResourceInUseException',
    message: 'Cannot change the profile because the cluster currently has an update in progress',
  },
  trustRefused: {
    calls: /^CreateFargateProfile$/,
    says: 'EKS does not see the role yet',
    status: 400,
    code: 'InvalidParameterException',
    message: TRUST_REFUSED,
  },
  quotaExceeded: {
    calls: /^CreateFargateProfile$/,
    says: 'EKS has no room',
    status: 400,
    code: 'ResourceLimitExceededException',
    message: 'Fargate Profile limit exceeded for cluster.',
  },
} as const;

/**
 * Executes requests that were sent at the same time, one after the other. Returns the world after them, and their
 * answers.
 */
function carriedOut(world: World, { requests, start, answered: known }: SimulatedReconcile, passes: Passes) {
  let { objects, aws } = world;
  const answered: Answered[] = [];
  let harm: string | undefined;
  for (const request of requests) {
    const before = { ...world, objects, aws };
    let answer: Answered;
    if (request.to === 'api') [objects, answer] = passes.answerOfApi(objects, request);
    else [aws, answer] = passes.answerOfAws(aws, request, start.name);
    answered.push(answer);
    if (request.to === 'aws' && aws !== before.aws) harm ??= findHarm(before, request, start.name, known);
  }
  return { world: released({ ...world, objects, aws }, world.objects), answered, harm };
}

/** Returns the world after a step of a reconcile of the manager `index`. */
function afterStep(
  world: World,
  index: number,
  { controller, name }: ReconcileStart,
  next: Continued,
  label: string,
  more: Partial<Transition> = {},
): Transition {
  const { [index]: before } = world.managers;
  if (before === undefined) throw new Error(`there is no manager ${index}`);
  const agent = `${controller} ${name} of manager ${index + 1}`;
  if (!('kind' in next))
    return { kind: 'fair', agent, label, world: withManager(world, index, { ...before, reconcile: next }), ...more };
  const { memory, cache, isAsleep, events, harm } = next;
  const others = before.asleep.filter((each) => each !== name);
  const asleep = isAsleep ? [...others, name].toSorted() : before.asleep;
  const manager: Manager = { memory, cache, asleep, reconcile: undefined };
  return { kind: 'fair', agent, label, world: withManager(world, index, manager), events, harm, ...more };
}

function crashed(world: World, index: number, label: string, cache: Objects = world.objects): Transition {
  const after: Manager = { memory: NO_MEMORY, cache, asleep: [], reconcile: undefined };
  return { kind: 'free', agent: '', label, world: withManager(world, index, after) };
}

const withManager = (world: World, index: number, manager: Manager): World => ({
  ...world,
  managers: world.managers.map((each, at) => (at === index ? manager : each)),
});

const lost = (request: Request): Answer =>
  request.to === 'api'
    ? { error: { status: 0, reason: 'NoAnswer' } }
    : failed(request, 0, 'NoAnswer', 'no answer within 10 s');

/** Adds the transitions that EKS, the watches, Cluster API and the passing of time cause. */
function addProgress(all: Transition[], world: World, scenario: Scenario): void {
  const { objects, aws, managers, ledger } = world;
  const fair = (agent: string, label: string, after: World): void => {
    all.push({ kind: 'fair', agent, label, world: after });
  };
  for (const [name, profile] of Object.entries(aws.profiles)) {
    const { status, isHidden, pod } = profile;
    if (pod === 'leaving')
      fair(`pod on ${name}`, `the pod on ${name} ends`, { ...world, aws: withProfile(aws, name, withoutPod(profile)) });
    if (isHidden) fair(`EKS shows ${name}`, `EKS shows ${name}`, { ...world, aws: shown(aws, name) });
    if (status !== 'CREATING' && status !== 'DELETING') continue;
    const verb = status === 'CREATING' ? 'creating' : 'deleting';
    fair(`EKS ends ${name}`, `EKS ends ${verb} ${name}`, { ...world, aws: withEnd(aws, name) });
    if (ledger.faults > 0 && scenario.faults.includes('eksFails')) {
      const after = { ...world, aws: withEnd(aws, name, true), ledger: { ...ledger, faults: ledger.faults - 1 } };
      all.push({ kind: 'free', agent: '', label: `EKS fails at ${verb} ${name}`, world: after });
    }
  }
  for (const [index, manager] of managers.entries()) {
    if (manager.reconcile !== undefined) continue;
    for (const path of new Set([...Object.keys(objects), ...Object.keys(manager.cache)])) {
      const { [path]: now } = objects;
      const known = manager.cache[path];
      if (
        now?.metadata.resourceVersion === known?.metadata.resourceVersion &&
        now?.metadata.uid === known?.metadata.uid
      )
        continue;
      const { [path]: _former, ...others } = manager.cache;
      const cache = now === undefined ? others : { ...others, [path]: now };
      const after = withManager(world, index, { ...manager, cache, asleep: [] });
      fair(
        `watch ${path} of manager ${index + 1}`,
        `manager ${index + 1} sees ${now === undefined ? 'the end' : 'the change'} of ${path}`,
        after,
      );
    }
  }
  addClusterApi(fair, world);
  if (managers.every(({ reconcile }) => reconcile === undefined)) fair('time', 'twenty minutes pass', later(world));
}

/**
 * Adds the transitions of Cluster API, CAPA and the garbage collector. In a teardown, Cluster API deletes the control
 * plane, CAPA deletes the EKS cluster, and the garbage collector deletes the other objects.
 */
function addClusterApi(fair: (agent: string, label: string, after: World) => void, world: World): void {
  const { objects, aws } = world;
  const { [CLUSTER_PATH]: cluster, [CONTROL_PLANE_PATH]: controlPlane } = objects;
  const changed = (path: string, patch: UnknownRecord): World => ({
    ...world,
    objects: withChange(objects, path, patch),
  });
  const deleted = (path: string): World => released({ ...world, objects: withDeletion(objects, path) }, objects);
  const gone = { metadata: { finalizers: [] } };
  if (cluster !== undefined && isDeleting(cluster)) {
    if (controlPlane === undefined) fair('Cluster API', 'Cluster API lets the Cluster go', changed(CLUSTER_PATH, gone));
    else if (!isDeleting(controlPlane))
      fair('Cluster API', 'Cluster API deletes the control plane', deleted(CONTROL_PLANE_PATH));
  }
  if (controlPlane !== undefined && isDeleting(controlPlane) && controlPlane.metadata.finalizers?.length === 1) {
    if (aws.cluster === 'gone') fair('CAPA', 'CAPA lets the control plane go', changed(CONTROL_PLANE_PATH, gone));
    else if (Object.keys(aws.profiles).length === 0)
      fair('CAPA', 'CAPA deletes the EKS cluster', { ...world, aws: { ...aws, cluster: 'gone', entries: {} } });
  }
  if (controlPlane !== undefined && fieldAt(controlPlane['status'], 'ready') !== true && aws.cluster === 'there')
    fair('CAPA', 'CAPA reports the control plane ready', changed(CONTROL_PLANE_PATH, { status: { ready: true } }));
  if (cluster !== undefined) return;
  for (const [path, object] of Object.entries(objects)) {
    const isOwned = object?.metadata.ownerReferences?.some(({ kind }) => kind === 'Cluster') === true;
    if (isOwned && !isDeleting(object))
      fair('garbage collector', `the garbage collector deletes ${path}`, deleted(path));
  }
}

const later = ({ objects, aws, managers, ledger }: World): World => ({
  objects: agedObjects(objects),
  aws: agedAws(aws),
  ledger,
  managers: managers.map((manager) => {
    const { memory, cache } = manager;
    return { ...manager, memory: agedMemory(memory), cache: agedObjects(cache) };
  }),
});

/** Returns AWS after twenty minutes, when EKS shows all profiles. */
const agedAws = once((aws: Aws): Aws => {
  const all = Object.keys(aws.profiles).reduce(
    (now, name) => (now.profiles[name]?.isHidden ? shown(now, name) : now),
    aws,
  );
  return aged(all);
});

const agedMemory = once((memory: Memory) => aged(memory));

const agedObjects = (objects: Objects): Objects =>
  Object.fromEntries(Object.entries(objects).map(([path, object]) => [path, object && agedObject(object)]));

/**
 * Moves back the times in status and record. They are part of the content, so the object gets the resourceVersion of
 * its new content.
 */
const agedObject = once((object: KubeObject): KubeObject => {
  const { metadata, status } = object;
  const after = { status: aged(status), annotations: aged(metadata.annotations) };
  const before = { status, annotations: metadata.annotations };
  if (JSON.stringify(after) === JSON.stringify(before)) return object;
  const { annotations } = after;
  const aging = { ...object, metadata: { ...metadata, ...(annotations && { annotations }) } };
  return stored(after.status === undefined ? aging : { ...aging, status: after.status });
});

/**
 * Records what may stay in AWS without its object: everything with `deletionPolicy: Retain`, else the roles that a
 * profile still uses, which an event reports. If the object is recreated, it owns these resources again.
 */
export function released(world: World, before: Objects): World {
  const { objects, aws, ledger } = world;
  let { retained } = ledger;
  for (const path of Object.keys({ ...before, ...objects })) {
    const { [path]: now } = objects;
    const object = now ?? before[path];
    if (object === undefined || now === before[path] || !path.startsWith(PROFILES)) continue;
    const own = ownedBy(aws, object.metadata.name);
    const isAll = fieldAt(object['spec'], 'deletionPolicy') === 'Retain';
    const isBack = (object.metadata.finalizers ?? []).length > 0;
    const left = now === undefined ? own.filter((arn) => isAll || userOf(aws, arn) !== undefined) : [];
    const rest = now !== undefined && isBack ? retained.filter((arn) => !own.includes(arn)) : retained;
    retained = [...new Set([...rest, ...left])].toSorted();
  }
  return retained === ledger.retained ? world : { ...world, ledger: { ...ledger, retained } };
}

/** Describes a request for a line of a story. */
export function describe(request: Request): string {
  if (request.to === 'aws') {
    const { call } = request;
    if ('arn' in request) return `${call} ${request.arn.split('/').slice(1).join('/')}`;
    if ('profile' in request) return `${call} ${request.profile.name}`;
    if ('role' in request) return `${call} ${request.role.name}`;
    return 'name' in request ? `${call} ${request.name}` : call;
  }
  if (request.verb !== 'patch') return `${request.verb} ${request.path}`;
  const { status } = request.patch;
  const ready = fieldAt(status, 'ready');
  const told = typeof ready === 'boolean' ? ` (ready: ${ready})` : '';
  return `write ${request.subresource ?? 'metadata'} of ${request.path.split('/').at(-1)}${told}`;
}
