import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { SCRIPT_DIRECTORY } from '../../argocd/health.ts';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { cachedFromModule } from '../../envtest/binaries/module-files.ts';
import { ARGO_CD_VERSION } from '../../envtest/binaries/versions.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { freePorts } from '../../envtest/control-plane/ports.ts';
import { waitUntilUp } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import type { World } from '../../world/world.ts';

const SAMPLE = fileURLToPath(new URL('../../../config/argocd/application.yaml', import.meta.url));
/** The time between two steps of a sync operation. Argo CD, too, makes at most one step a second. */
export const STEP_MS = 1_000;

/** The state of a sync operation of Argo CD. */
export interface Operation {
  readonly phase: 'Running' | 'Succeeded' | 'Failed' | 'Error';
  readonly message: string;
  /** The result of the sync operation for each object, by `Kind/name`. */
  readonly results: Readonly<Record<string, string>>;
}

/** The state of an object as Argo CD shows it. */
export interface ObjectState {
  readonly object: string;
  readonly outOfSync: boolean;
  readonly health?: string;
  readonly message?: string;
}

export interface ArgoApplication {
  /** Replaces the manifests in the folder that the Application syncs. */
  write(objects: readonly object[]): Promise<void>;
  /** Begins a sync operation, with its first step. */
  start(): Promise<Operation>;
  /** Continues the sync operation with one step. */
  step(): Promise<Operation>;
  /** Continues the sync operation until it has ended. */
  finish(): Promise<Operation>;
  /** Runs a sync operation from its start to its end. */
  sync(): Promise<Operation>;
  state(): Promise<readonly ObjectState[]>;
  stop(): Promise<void>;
}

/**
 * Applies config/argocd/application.yaml to the API server, as a dry run, with the real CRD of Argo CD. Returns the
 * errors and warnings of kubectl.
 * @throws {BinariesMissing} if the CRD is not in the cache and Go is not installed
 */
export async function validateArgoSample(world: World): Promise<string> {
  const crds = await cachedFromModule(
    {
      module: `github.com/argoproj/argo-cd/v3@${ARGO_CD_VERSION}`,
      name: `argo-cd-${ARGO_CD_VERSION}-crds`,
      neededBy: 'argocd-engine',
    },
    (module, directory) => cp(join(module, 'manifests/crds/application-crd.yaml'), join(directory, 'application.yaml')),
  );
  await applyCrds(world.controlPlane.api, crds);
  await world.createNamespace('argocd');
  const apply = ['apply', '--server-side', '--validate=strict', '--dry-run=server', '-f', SAMPLE];
  return (await world.kubectl(apply)).stderr;
}

/**
 * Starts the sync engine of Argo CD with the health script of this project, for an Application with an empty folder.
 * @throws {BinariesMissing} if the program argocd-engine is not in the cache and Go is not installed
 */
export async function startArgoApplication(
  { controlPlane }: World,
  tracking: 'annotation' | 'label',
): Promise<ArgoApplication> {
  const { 'argocd-engine': file } = await resolveBinaries(['argocd-engine']);
  const folder = await mkdtemp(join(controlPlane.dir, 'argocd-'));
  const [port = 0] = await freePorts(1);
  const listen = `127.0.0.1:${port}`;
  const engine = await controlPlane.run({
    name: `argocd-engine-${tracking}`,
    file,
    // prettier-ignore
    args: [
      '--kubeconfig', controlPlane.kubeconfigPath, '--folder', folder, '--listen', listen,
      '--application', 'my-cluster', '--tracking', tracking,
      '--health-kind', 'AWSFargateProfile', '--health-script', fileURLToPath(new URL('health.lua', SCRIPT_DIRECTORY)),
    ],
  });
  const call = async <T>(method: string, path: string): Promise<T> => {
    const answer = await fetch(`http://${listen}${path}`, { method });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} of the sync engine: ${text}\n${engine.tail()}`);
    return JSON.parse(text) as T;
  };
  await waitUntilUp([engine], 'the sync engine of Argo CD', async () => (await fetch(`http://${listen}/state`)).ok);
  const application: ArgoApplication = {
    write: (objects) =>
      writeFile(join(folder, 'objects.yaml'), objects.map((object) => `---\n${stringify(object)}`).join('')),
    start: () => call('POST', '/start'),
    step: () => call('POST', '/step'),
    finish: () =>
      eventually(
        async () => {
          const operation = await application.step();
          if (operation.phase === 'Running') throw new Error(JSON.stringify(operation));
          return operation;
        },
        { what: 'the end of the sync operation', intervalMs: STEP_MS },
      ),
    sync: async () => {
      const operation = await application.start();
      return operation.phase === 'Running' ? application.finish() : operation;
    },
    state: () => call('GET', '/state'),
    stop: async () => void (await engine.stop()),
  };
  return application;
}
