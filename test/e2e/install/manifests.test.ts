import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { parseAllDocuments } from 'yaml';
import { GRACE_PERIOD, RECORDER_FLUSH_TIMEOUT } from 'controller-runtime/manager';
import { parseFlags } from '../../../cmd/manager/flags/parse-flags.ts';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { kubectl } from '../../envtest/clients/kubectl.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { EMPTY_SET_UP, acquireControlPlane } from '../../envtest/control-plane/pool.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MONITORING_CRDS = ['servicemonitors', 'prometheusrules'].map((name) =>
  fileURLToPath(new URL(`../../crds/monitoring/${name}.yaml`, import.meta.url)),
);
const COMPONENTS = readdirSync(join(ROOT, 'config/components'));
/**
 * The cluster-scoped kinds whose objects `clusterctl delete` deletes whatever their names are, with --include-namespace
 * and --include-crd. `clusterctl delete` and `clusterctl upgrade` delete a ClusterRole or a ClusterRoleBinding only if
 * its name begins with the namespace of the provider.
 */
const DELETED_BY_KIND = ['Namespace', 'CustomResourceDefinition'];

/** The flags that the documentation of a component tells the user to add to the manager. */
const FLAGS_TO_ADD: Readonly<Record<string, readonly string[]>> = {
  'instance-groups': ['--allow-eks-cluster=default=123456789012/eu-west-1/*'],
};

interface Container {
  readonly name: string;
  readonly args: readonly string[];
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds: number;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: {
    readonly template: { readonly metadata: object; readonly spec: PodSpec };
  };
}

/**
 * The combinations of manifests that a user can install: config/default alone, with each component, and with all
 * components.
 */
const VARIANTS: readonly (readonly [name: string, components: readonly string[]])[] = [
  ['config/default', []],
  ...COMPONENTS.map((component) => [`config/default with ${component}`, [component]] as const),
  ['config/default with all components', COMPONENTS],
];

describe('the manifests of an installation', () => {
  let controlPlane: ControlPlane;
  let overlay: string;

  before(async () => {
    controlPlane = await acquireControlPlane(EMPTY_SET_UP);
    await applyCrds(controlPlane.api, ...MONITORING_CRDS);
    overlay = mkdtempSync(join(ROOT, '.tmp/overlay-'));
  });
  after(async () => {
    rmSync(overlay, { recursive: true, force: true });
    await controlPlane.stop();
  });

  function render(components: readonly string[]): string {
    const path = (directory: string): string => relative(overlay, join(ROOT, 'config', directory));
    const kustomization = {
      resources: [path('default')],
      components: components.map((component) => path(`components/${component}`)),
    };
    writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization));
    return renderKustomization(controlPlane.kubectlPath, overlay);
  }
  const parse = (text: string): readonly Manifest[] =>
    parseAllDocuments(text).map((document) => document.toJS() as Manifest);

  function findDeployment(manifests: readonly Manifest[]): Manifest {
    const found = manifests.filter(({ kind }) => kind === 'Deployment');
    expect(found).to.have.length(1);
    return found[0] as Manifest;
  }

  async function applyNamespace(manifests: readonly Manifest[]): Promise<void> {
    const namespace = manifests.find(({ kind }) => kind === 'Namespace');
    await controlPlane.api.apply(`/api/v1/namespaces/${namespace?.metadata.name}`, namespace);
  }

  for (const [name, components] of VARIANTS) {
    it(`are accepted by the API server without a warning: ${name}`, async () => {
      const text = render(components);
      const manifests = parse(text);
      await applyNamespace(manifests);
      const applied = await kubectl(
        controlPlane,
        ['apply', '--server-side', '--validate=strict', '--dry-run=server', '-f', '-'],
        { stdin: text },
      );
      expect(applied.stderr).to.equal('');
      expect(applied.stdout.trim().split('\n')).to.have.length(manifests.length);
    });

    it(`run pods that the Pod Security Standard "restricted" allows: ${name}`, async () => {
      const manifests = parse(render(components));
      await applyNamespace(manifests);
      const { metadata, spec } = findDeployment(manifests).spec.template;
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'manager' }, spec };
      const path = '/api/v1/namespaces/capaf-system/pods';
      await controlPlane.api.post(path, pod, { dryRun: 'All' });

      const containers = spec.containers.map((container) => ({ ...container, securityContext: {} }));
      const refused = await controlPlane.api.request('POST', path, {
        body: { ...pod, spec: { ...spec, containers } },
        query: { dryRun: 'All' },
      });
      expect(refused.status, 'the same pod without its security context').to.equal(403);
    });

    it(`pass flags that the manager accepts, in the form --name=value: ${name}`, () => {
      const { containers } = findDeployment(parse(render(components))).spec.template.spec;
      expect(containers.map(({ name: container }) => container)).to.deep.equal(['manager']);
      const args = containers.flatMap((container) => container.args);
      for (const arg of args) expect(arg).to.match(/^--[a-z-]+=.+$/);
      const added = components.flatMap((component) => FLAGS_TO_ADD[component] ?? []);
      expect(parseFlags([...args, ...added])).to.satisfy(isRight);
    });
  }

  it('give the manager more time to stop than it takes', () => {
    const { terminationGracePeriodSeconds } = findDeployment(parse(render([]))).spec.template.spec;
    expect(terminationGracePeriodSeconds * 1_000).to.be.greaterThan(GRACE_PERIOD + RECORDER_FLUSH_TIMEOUT);
  });

  it('let Prometheus scrape with TLS and a token, or without both if the component metrics-insecure comes last', () => {
    const scraped = (components: readonly string[]): unknown =>
      parse(render(components)).find(({ kind }) => kind === 'ServiceMonitor')?.spec;
    expect(scraped(['service-monitor'])).to.have.deep.nested.property('endpoints[0].scheme', 'https');
    expect(scraped(['service-monitor', 'metrics-insecure'])).to.have.deep.property('endpoints', [
      { port: 'metrics', path: '/metrics', scheme: 'http' },
    ]);
  });

  it('have names with which clusterctl finds every object again', () => {
    for (const { kind, metadata } of parse(render(COMPONENTS))) {
      if (metadata.namespace === undefined && !DELETED_BY_KIND.includes(kind))
        expect(metadata.name, kind).to.match(/^capaf-system-/);
      else if (metadata.namespace !== undefined) expect(metadata.namespace, kind).to.equal('capaf-system');
    }
  });
});
