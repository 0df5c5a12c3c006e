import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { cachedFromModule } from '../../envtest/binaries/module-files.ts';
import { KUSTOMIZE_CONTROLLER_VERSION, SOURCE_CONTROLLER_VERSION } from '../../envtest/binaries/versions.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { freePorts } from '../../envtest/control-plane/ports.ts';
import { waitUntilUp } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import { listenOnLoopback } from '../../support/proxies/listen.ts';
import type { World } from '../../world/world.ts';

const SAMPLE = fileURLToPath(new URL('../../../config/flux/cluster.yaml', import.meta.url));
/** The folder of the Git repository to which spec.path in config/flux/cluster.yaml points. */
const FOLDER = 'my-cluster';
const SOURCE = '/apis/source.toolkit.fluxcd.io/v1/namespaces/default/gitrepositories/clusters';
export const KUSTOMIZATION = '/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/default/kustomizations/my-cluster';

export interface Flux {
  /** Applies config/flux/cluster.yaml: a GitRepository and a Kustomization. */
  applySample(): Promise<void>;
  /**
   * Gives the GitRepository a new revision with the given objects, as the source-controller does after a commit.
   * Returns the revision.
   */
  push(objects: readonly object[]): Promise<string>;
  /** Waits until the Kustomization has applied the revision and is Ready. */
  waitUntilReady(revision: string): Promise<void>;
  /**
   * Makes the Kustomization apply the folder again, like `flux reconcile kustomization`, and waits until it is Ready.
   */
  reconcile(): Promise<void>;
  suspend(isSuspended: boolean): Promise<void>;
  kustomization(): Promise<RawObject>;
  stop(): Promise<void>;
}

/**
 * Starts the kustomize-controller of Flux, and a stand-in for its source-controller.
 * @throws {BinariesMissing} if the kustomize-controller or a CRD is not in the cache and Go is not installed
 */
export async function startFlux(world: World): Promise<Flux> {
  const { controlPlane } = world;
  const { api } = controlPlane;
  const { 'kustomize-controller': file } = await resolveBinaries(['kustomize-controller']);
  await applyCrds(api, await fluxCrds('kustomize-controller'), await fluxCrds('source-controller'));
  const [healthPort, metricsPort] = await freePorts(2);
  const controller = await controlPlane.run({
    name: 'kustomize-controller',
    file,
    // prettier-ignore
    args: [
      '--watch-all-namespaces', '--events-addr=', '--log-level=debug',
      `--metrics-addr=127.0.0.1:${metricsPort}`, `--health-addr=127.0.0.1:${healthPort}`,
    ],
    env: { KUBECONFIG: controlPlane.kubeconfigPath, RUNTIME_NAMESPACE: 'flux-system' },
  });
  const readyz = `http://127.0.0.1:${healthPort}/readyz`;
  await waitUntilUp([controller], `${readyz} answering 200`, async () => (await fetch(readyz)).ok);
  const source = await startSource();
  let requests = 0;

  const waitFor = (what: string, isThere: (object: RawObject) => boolean): Promise<true> =>
    eventually(
      async () => {
        const object = await api.get(KUSTOMIZATION);
        if (!isThere(object)) throw new Error(JSON.stringify(object.status));
        return true as const;
      },
      { what },
    );
  return {
    applySample: async () => {
      const applied = await world.kubectl(['apply', '--server-side', '--validate=strict', '-f', SAMPLE]);
      if (applied.code !== 0) throw new Error(applied.stderr);
    },
    push: async (objects) => {
      const artifact = source.publish(objects);
      const { metadata } = await api.get(SOURCE);
      const ready = { type: 'Ready', status: 'True', reason: 'Succeeded', message: '' };
      await api.patch(`${SOURCE}/status`, {
        status: {
          observedGeneration: metadata.generation,
          artifact,
          conditions: [{ ...ready, lastTransitionTime: artifact.lastUpdateTime }],
        },
      });
      return artifact.revision;
    },
    waitUntilReady: async (revision) => {
      await waitFor(
        `the Kustomization being Ready with ${revision}`,
        (object) => object.status?.['lastAppliedRevision'] === revision && isReady(object),
      );
    },
    reconcile: async () => {
      requests += 1;
      const request = String(requests);
      await api.patch(KUSTOMIZATION, { metadata: { annotations: { 'reconcile.fluxcd.io/requestedAt': request } } });
      await waitFor(
        `the reconciliation ${request}`,
        (object) => object.status?.['lastHandledReconcileAt'] === request && isReady(object),
      );
    },
    suspend: async (isSuspended) => void (await api.patch(KUSTOMIZATION, { spec: { suspend: isSuspended } })),
    kustomization: () => api.get(KUSTOMIZATION),
    stop: () => source.stop(),
  };
}

function isReady({ metadata, status }: RawObject): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
}

/** Returns a folder with the CRDs of a controller of Flux. */
const fluxCrds = (controller: 'kustomize-controller' | 'source-controller'): Promise<string> => {
  const version = controller === 'source-controller' ? SOURCE_CONTROLLER_VERSION : KUSTOMIZE_CONTROLLER_VERSION;
  return cachedFromModule(
    {
      module: `github.com/fluxcd/${controller}@${version}`,
      name: `${controller}-${version}-crds`,
      neededBy: 'kustomize-controller',
    },
    (module, directory) => cp(join(module, 'config', 'crd', 'bases'), directory, { recursive: true }),
  );
};

interface Artifact {
  readonly digest: string;
  readonly lastUpdateTime: string;
  readonly path: string;
  readonly revision: string;
  readonly size: number;
  readonly url: string;
}

/** Serves archives of folders over HTTP, as the source-controller does. */
async function startSource(): Promise<{ publish(objects: readonly object[]): Artifact; stop(): Promise<void> }> {
  const archives = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '');
    response.writeHead(archive === undefined ? 404 : 200).end(archive);
  });
  const port = await listenOnLoopback(server);
  let revisions = 0;
  return {
    publish: (objects) => {
      revisions += 1;
      const archive = archiveOf(objects.map((object) => `---\n${stringify(object)}`).join(''));
      const commit = createHash('sha1').update(`${revisions}`).update(archive).digest('hex');
      archives.set(`/${commit}.tar.gz`, archive);
      return {
        digest: `sha256:${createHash('sha256').update(archive).digest('hex')}`,
        lastUpdateTime: new Date().toISOString().replace(/\.\d+/, ''),
        path: `${commit}.tar.gz`,
        revision: `main@sha1:${commit}`,
        size: archive.length,
        url: `http://127.0.0.1:${port}/${commit}.tar.gz`,
      };
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns a compressed tar archive with the manifests in the folder of the repository. */
function archiveOf(manifests: string): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'capaf-flux-'));
  try {
    mkdirSync(join(directory, FOLDER));
    writeFileSync(join(directory, FOLDER, 'objects.yaml'), manifests);
    return execFileSync('tar', ['--create', '--gzip', '--directory', directory, FOLDER]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
