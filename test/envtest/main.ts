import { BINARIES, BinariesMissing, TEST_BINARIES, resolveBinaries, type BinaryName } from './binaries/binaries.ts';
import { startControlPlane } from './control-plane/controlplane.ts';
import { capaManifests } from './control-plane/capa-manifests.ts';
import { coreCrds, coreRelease } from './control-plane/coremanager.ts';

/** The binaries that every test control plane needs. */
const CONTROL_PLANE = ['kube-apiserver', 'etcd', 'kubectl'] as const;

const USAGE = `usage: node test/envtest/main.ts ensure [name...]   get the binaries, by default ${CONTROL_PLANE.join(', ')}
       node test/envtest/main.ts ensure-manifests   the manifests of Cluster API Provider AWS, which make test needs
       node test/envtest/main.ts ensure-all         all that make test-e2e needs; missing ones are reported
       node test/envtest/main.ts path <name>        get a binary and print its path
       node test/envtest/main.ts run               start a control plane, until Ctrl-C`;

async function printPath(name: string): Promise<void> {
  if (!isBinary(name)) throw new Error(`unknown binary: ${name}; known: ${BINARIES.join(', ')}`);
  console.log((await resolveBinaries([name]))[name]);
}

async function ensure(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !isBinary(name));
  if (unknown.length > 0) throw new Error(`unknown binaries: ${unknown.join(', ')}; known: ${BINARIES.join(', ')}`);
  print(await resolveBinaries(names.length === 0 ? CONTROL_PLANE : names.filter(isBinary)));
}

/**
 * Gets the manifests of Cluster API Provider AWS, which `make test` needs besides the binaries of the control plane.
 */
async function ensureManifests(): Promise<void> {
  await reportMissing(capaManifests);
}

/**
 * Gets the binaries and manifests of `make test-e2e` before the tests start, because a build
 * during a test would exceed the timeout of the test.
 */
async function ensureAll(): Promise<void> {
  await ensure([]);
  await reportMissing(async () => {
    print(await resolveBinaries(TEST_BINARIES.filter((name) => !CONTROL_PLANE.some((each) => each === name))));
    await coreCrds();
    await coreRelease();
    await capaManifests();
  });
}

/**
 * Runs `get`, which gets binaries or manifests. Prints a message instead of failing if `get` throws BinariesMissing,
 * e.g. because Go is missing. A failed build with Go throws another error.
 */
async function reportMissing(get: () => Promise<unknown>): Promise<void> {
  try {
    await get();
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`${error.message}\nTests that need them are skipped with a message.`);
  }
}

function print(paths: Readonly<Record<string, string>>): void {
  for (const [name, path] of Object.entries(paths)) console.log(`${name.padEnd(24)} ${path}`);
}

async function run(): Promise<void> {
  const started = performance.now();
  const controlPlane = await startControlPlane();
  console.log(`ready after ${((performance.now() - started) / 1000).toFixed(1)} s: ${controlPlane.url}

  export KUBECONFIG=${controlPlane.kubeconfigPath}
  ${controlPlane.kubectlPath} get namespaces

Ctrl-C stops it and removes ${controlPlane.dir}`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  await controlPlane.stop();
}

function isBinary(name: string): name is BinaryName {
  return BINARIES.some((candidate) => candidate === name);
}

const [command, ...rest] = process.argv.slice(2);
try {
  if (command === 'ensure') await ensure(rest);
  else if (command === 'ensure-manifests' && rest.length === 0) await ensureManifests();
  else if (command === 'ensure-all' && rest.length === 0) await ensureAll();
  else if (command === 'path' && rest[0] !== undefined) await printPath(rest[0]);
  else if (command === 'run' && rest.length === 0) await run();
  else {
    console.error(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  console.error(error instanceof Error ? describe(error) : error);
  process.exitCode = 1;
}

/** Returns the message of an error and the messages of its causes, without stack traces. */
function describe(error: Error): string {
  return error.cause instanceof Error ? `${error.message}\n${describe(error.cause)}` : error.message;
}
