import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import type { ApiClient } from '../clients/api.ts';
import { waitForAccessCaches } from './access-caches.ts';
import { awaitInventory } from './await-inventory.ts';
import { startControlPlane, startControllerManager, type ControlPlane } from './controlplane.ts';
import type { User } from './credentials.ts';
import { readAllKeys, writeKeys } from './etcd.ts';
import { changesTo, readServed, type Inventory } from './inventory.ts';
import type { ServerProcess } from './process.ts';

/**
 * The highest number of unused control planes that the pool keeps. If a test file used two control planes at the same
 * time, the pool keeps one of them and stops the other.
 */
const MAX_IDLE = 1;
/**
 * The etcd keys of webhook configurations and of RBAC roles and role bindings. The API server reads these objects from
 * internal caches, and `waitForAccessCaches` waits until such a cache is up to date.
 */
const READ_FROM_CACHES = /^\/registry\/(validatingwebhook|mutatingwebhook|clusterrole|role)/;
/**
 * The etcd keys of admission policies. The API server reads these policies from caches, too, and `waitForAccessCaches`
 * does not wait for these caches. So the pool stops a control plane whose admission policies a test file has changed.
 */
const ADMISSION_POLICIES = /^\/registry\/(validating|mutating)admissionpolic/;

/** The user name of the service account that `config/rbac` gives to the manager. */
export const MANAGER_ACCOUNT = 'system:serviceaccount:capaf-system:capaf-manager';
/**
 * The service account of the manager as the API server authenticates it. Every control plane of the pool has this user.
 */
export const MANAGER_USER: Required<User> = {
  name: MANAGER_ACCOUNT,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:capaf-system'],
};

/**
 * A user without permissions of its own; it has only those that Kubernetes gives to every authenticated user. Every
 * control plane of the pool has this user.
 */
export const UNPRIVILEGED_USER: Required<User> = {
  name: 'system:serviceaccount:default:unprivileged',
  groups: ['system:authenticated'],
};

/**
 * Objects, e.g. CRDs, that a control plane of the pool has at the start of a test file, and keeps for the next test
 * file that needs the same set-up.
 */
export interface SetUp {
  readonly name: string;
  apply(api: ApiClient): Promise<void>;
}

export const EMPTY_SET_UP: SetUp = { name: 'empty', apply: () => Promise.resolve() };

/** A control plane of the pool, and the contents of etcd that `stop()` restores after a test file. */
interface Pooled {
  readonly controlPlane: ControlPlane;
  readonly setUp: SetUp;
  readonly inventory: Inventory;
  /**
   * The contents of etcd and the served objects after the start of the control plane, before `SetUp.apply` was called.
   */
  readonly fresh: Inventory;
}

const idle: Pooled[] = [];

/**
 * Takes a control plane from the pool of this test process, or starts a control plane if the pool is empty. Only one
 * test file uses a control plane at a time. `stop()` of the control plane stops the processes that the test file has
 * started, restores the keys of etcd from a snapshot, and returns the control plane to the pool. `stop()` throws an
 * error with a list of the differences if the keys of etcd still differ from the snapshot. If the API server does not
 * run, or serves other objects than in the snapshot, or the pool is full, or the test file has changed an admission
 * policy, `stop()` does not return the control plane to the pool but stops its processes.
 */
export async function acquireControlPlane(setUp: SetUp): Promise<ControlPlane> {
  const pooled = await prepare((await takeIdle(setUp)) ?? (await start()), setUp);
  return use(pooled, await mkdtemp(join(pooled.controlPlane.dir, 'use-')));
}

async function takeIdle(setUp: SetUp): Promise<Pooled | undefined> {
  const taken = idle.find((each) => each.setUp.name === setUp.name) ?? idle[0];
  if (taken === undefined) return undefined;
  idle.splice(idle.indexOf(taken), 1);
  const { controlPlane } = taken;
  controlPlane.keepAlive(true);
  try {
    await controlPlane.api.get('/readyz');
    return taken;
  } catch (error) {
    // The API server has stopped answering while no test used the control plane. A message on stderr is enough, because
    // no test depended on the API server at that time.
    console.error(`A control plane ended while it was idle: ${String(error)}\n${controlPlane.logs()}`);
    await controlPlane.stop();
    return undefined;
  }
}

async function start(): Promise<Pooled> {
  const controlPlane = await startControlPlane({ users: [MANAGER_USER, UNPRIVILEGED_USER] });
  await waitUntilInitialized(controlPlane.api);
  const fresh = await inventoryOf(controlPlane);
  return { controlPlane, setUp: EMPTY_SET_UP, inventory: fresh, fresh };
}

/** The paths of objects that a new API server creates shortly after it is ready. */
const INITIAL_OBJECTS = [
  ...['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((name) => `/api/v1/namespaces/${name}`),
  '/api/v1/namespaces/default/services/kubernetes',
  '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking',
];
/**
 * The path of a ServiceCIDR. A new API server creates the ServiceCIDR shortly after it is ready, and then sets its
 * condition Ready to True. API servers before Kubernetes 1.33 do not serve the kind.
 */
const SERVICE_CIDR = '/apis/networking.k8s.io/v1/servicecidrs/kubernetes';

async function waitUntilInitialized(api: ApiClient): Promise<void> {
  await eventually(
    async () => {
      for (const path of INITIAL_OBJECTS) await api.get(path);
      if (!(await servesServiceCidrs(api))) return true;
      const { status } = await api.get(SERVICE_CIDR);
      return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
    },
    { what: 'the initial objects of the API server' },
  );
}

async function servesServiceCidrs(api: ApiClient): Promise<boolean> {
  const { resources } = await api.get<{ readonly resources: readonly { readonly name: string }[] }>(
    '/apis/networking.k8s.io/v1',
  );
  return resources.some(({ name }) => name === 'servicecidrs');
}

/**
 * Gives a control plane of the pool another set-up: removes the objects of its old set-up, and applies the new one. If
 * the API server keeps anything of the old set-up, a new control plane takes its place.
 */
async function prepare(pooled: Pooled, setUp: SetUp): Promise<Pooled> {
  if (pooled.setUp.name === setUp.name) return pooled;
  const { controlPlane, fresh } = pooled;
  try {
    if (pooled.setUp === EMPTY_SET_UP || (await reset(controlPlane, fresh))) {
      await setUp.apply(controlPlane.api);
      return { ...pooled, setUp, inventory: await inventoryOf(controlPlane) };
    }
  } catch (error) {
    throw await stopAfterFailure(controlPlane, `replacing the set-up "${pooled.setUp.name}" by "${setUp.name}"`, error);
  }
  return prepare(await start(), setUp);
}

function use(pooled: Pooled, dir: string): ControlPlane {
  const { controlPlane } = pooled;
  const processes: ServerProcess[] = [];
  const api = controlPlane.api.withToken(controlPlane.token);
  let isStopped = false;
  let wasRestarted = false;
  let returned: Promise<void> | undefined;
  const run: ControlPlane['run'] = async (options) => {
    const process_ = await controlPlane.run({ logDirectory: dir, ...options });
    processes.push(process_);
    return process_;
  };
  return {
    ...controlPlane,
    dir,
    api,
    run,
    startControllerManager: () => startControllerManager(run, controlPlane.kubeconfigPath),
    stopApiServer: (signal) => {
      isStopped = true;
      return controlPlane.stopApiServer(signal);
    },
    startApiServer: async () => {
      await controlPlane.startApiServer();
      isStopped = false;
      wasRestarted = true;
    },
    compactHistory: async () => {
      await controlPlane.compactHistory();
      wasRestarted = true;
    },
    stop: () => {
      returned ??= (async () => {
        api.close();
        await Promise.all(processes.map((each) => each.stop('SIGKILL')));
        await rm(dir, { recursive: true, force: true });
        if (isStopped) await controlPlane.stop();
        else await giveBack(pooled, wasRestarted);
      })();
      return returned;
    },
  };
}

/**
 * Removes the changes of a test file from a control plane, and returns the control plane to the pool. If the API server
 * was restarted, it forbids requests until it has read the RBAC objects again, and this function waits until then.
 */
async function giveBack(pooled: Pooled, wasRestarted: boolean): Promise<void> {
  const { controlPlane, inventory, fresh } = pooled;
  try {
    const changed = [...changesTo(inventory.contents, await readAllKeys(controlPlane.etcdUrl)).keys()];
    if (idle.length === MAX_IDLE || changed.some((key) => ADMISSION_POLICIES.test(key))) {
      await controlPlane.stop();
      return;
    }
    const isKept = changed.every((key) => fresh.contents.has(key) || !inventory.contents.has(key));
    const next = isKept ? pooled : { ...pooled, setUp: EMPTY_SET_UP, inventory: fresh };
    if (!(await reset(controlPlane, next.inventory))) return;
    if (wasRestarted) await waitForAccessCaches(controlPlane.api);
    controlPlane.api.close();
    controlPlane.keepAlive(false);
    idle.push(next);
  } catch (error) {
    throw await stopAfterFailure(controlPlane, 'giving back a control plane', error);
  }
}

/**
 * Stops a control plane that cannot be used again after an error. Returns an error with the logs of the control plane
 * and with the original error as cause.
 */
async function stopAfterFailure(controlPlane: ControlPlane, doing: string, cause: unknown): Promise<Error> {
  const logs = controlPlane.logs();
  await controlPlane.stop();
  return new Error(`${doing}: ${cause instanceof Error ? cause.message : String(cause)}\n${logs}`, { cause });
}

async function inventoryOf({ etcdUrl, api }: ControlPlane): Promise<Inventory> {
  return { contents: await readAllKeys(etcdUrl), served: await readServed(api) };
}

/**
 * Restores the keys and values of etcd from an inventory, an earlier snapshot. Then waits until the API server serves
 * exactly the objects that the inventory lists. If the API server does not, stops the control plane and returns false.
 */
async function reset(controlPlane: ControlPlane, inventory: Inventory): Promise<boolean> {
  const { etcdUrl, api } = controlPlane;
  const changes = changesTo(inventory.contents, await readAllKeys(etcdUrl));
  await writeKeys(etcdUrl, changes);
  if ([...changes.keys()].some((key) => READ_FROM_CACHES.test(key))) await waitForAccessCaches(api);
  return awaitInventory(controlPlane, () => inventoryOf(controlPlane), inventory);
}
