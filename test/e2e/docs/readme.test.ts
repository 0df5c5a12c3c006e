import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { readPage, takeBlocks } from '../../docs/blocks.ts';
import { openTerminalInClone } from '../../docs/clone.ts';
import type { Terminal } from '../../docs/terminal.ts';
import { STAND_IN_CRDS } from '../../envtest/clients/crds.ts';
import { freePorts } from '../../envtest/control-plane/ports.ts';
import { PROGRAM } from '../../integration/capaf/run-capaf.ts';
import { applyFargatePod, applyKubeconfigSecret } from '../../integration/capaf/workload.ts';
import { AWS_KEY, REGION, useWorld } from '../../world/world.ts';

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly image: string }[];
        readonly volumes: readonly { readonly secret?: { readonly secretName: string } }[];
      };
    };
  };
}

/** An object of config/samples/cluster. */
interface Renamed {
  readonly kind: string;
  readonly spec: {
    readonly clusterName?: string;
    readonly controlPlaneRef?: { readonly name: string };
    readonly infrastructureRef?: { readonly name: string };
  };
}

/** Replaces the ages and subnet ids in an output with placeholders, and each run of spaces with one space. */
const normalized = (output: string): string =>
  output
    .replaceAll(/\d+[smhd](?:\d+[smh])?(?= ago|$)/gm, '<age>')
    .replaceAll(/subnet-[0-9a-f]{17}/g, '<subnet>')
    .replaceAll(/(?<=\S) +/g, ' ');

describe('the README and docs/install.md', () => {
  const world = useWorld({ crds: [STAND_IN_CRDS], hasRbac: false });
  let terminal: Terminal;

  before(async () => {
    const env = {
      AWS_ENDPOINT_URL: world.awsUrl,
      AWS_ACCESS_KEY_ID: AWS_KEY,
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: REGION,
    };
    terminal = await openTerminalInClone(world.controlPlane, { programs: { capaf: PROGRAM }, env });
    world.addCleanup(() => terminal.close());
  });
  const readme = takeBlocks('README.md', import.meta.url);
  const install = takeBlocks('docs/install.md', import.meta.url);
  const gitops = takeBlocks('docs/gitops.md', import.meta.url);

  it('have a kustomization that installs the image of the release with the Secret of the access keys', async () => {
    writeFileSync(join(terminal.directory, 'kustomization.yaml'), install.next('resources:'));
    await terminal.run(install.next('kubectl apply'));
    const path = '/apis/apps/v1/namespaces/capaf-system/deployments/capaf-controller-manager';
    const { spec } = (await world.controlPlane.api.get<Deployment>(path)).spec.template;
    const [, image = ''] = /IMAGE=(\S+)/.exec(readPage('README.md')) ?? [];
    expect(spec.containers.map((container) => container.image)).to.deep.equal([`${image}:v0.1.0`]);
    expect(spec.volumes.map(({ secret }) => secret?.secretName)).to.include('capaf-manager-credentials');
  });

  it('have commands that run a manager from source, a manifest that becomes Ready unchanged, and what kubectl and capaf show of it', async () => {
    await world.createEksCluster('my-cluster');
    const [healthPort, diagnosticsPort] = await freePorts(2);
    // Another test on the same machine may use the default ports of the manager, so the test takes free ports.
    const ports = `--health-addr 127.0.0.1:${healthPort} --diagnostics-address 127.0.0.1:${diagnosticsPort}`;
    const stop = terminal.start(`${install.next('make build').trimEnd()} ${ports}`);
    try {
      const applied = await world.kubectl(['apply', '--validate=strict', '-f', '-'], readme.next('AWSFargateProfile'));
      expect(applied.stderr).to.equal('');
      expect(applied.stdout).to.equal('awsfargateprofile.infrastructure.cluster.x-k8s.io/web created\n');
      await world.ready('web');
      await world.event('web', 'Created new EKS fargate profile');
      await applyPods();
      const shown = await terminal.run(readme.next('capaf status'));
      expect(normalized(shown)).to.equal(normalized(readme.next('AWSFargateProfile default/web: Ready')));
      await world.delete('web');
      await world.gone('web');
    } finally {
      await stop();
    }
  });

  it('lead to a health script for Argo CD that is added to the settings of Argo CD', async () => {
    const settings = (key: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'argocd-cm', namespace: 'argocd' },
        data: { [key]: 'kept' },
      });
    await world.createNamespace('argocd');
    for (const [key, ...args] of [['server-side', '--server-side'], ['client-side']]) {
      const { code, stderr } = await world.kubectl(['apply', ...args, '-f', '-'], settings(key ?? ''));
      expect(code, stderr).to.equal(0);
    }
    const before = await keysOfSettings();
    expect(before).to.have.members(['server-side', 'client-side']);

    await terminal.run(gitops.next('kubectl patch configmap argocd-cm'));
    const script = 'resource.customizations.health.infrastructure.cluster.x-k8s.io_AWSFargateProfile';
    expect(await keysOfSettings()).to.have.members([...before, script]);
  });

  it('have references with which kustomize renames a Cluster and what names it', async () => {
    const directory = join(terminal.directory, 'europe');
    cpSync(join(terminal.directory, 'config/samples/cluster'), directory, { recursive: true });
    writeFileSync(join(directory, 'name-references.yaml'), gitops.next('nameReference:'));
    const kustomization = `namePrefix: eu-\nresources: [cluster.yaml, profiles.yaml]\n${gitops.next('configurations:')}`;
    writeFileSync(join(directory, 'kustomization.yaml'), kustomization);
    const objects = parseAllDocuments(await terminal.run('kubectl kustomize europe')).map(
      (each) => each.toJS() as Renamed,
    );
    const referencesOf = (kind: string) =>
      objects
        .filter((object) => object.kind === kind)
        .map(({ spec }) => spec.clusterName ?? [spec.controlPlaneRef?.name, spec.infrastructureRef?.name]);
    expect(referencesOf('Cluster')).to.deep.equal([['eu-my-cluster-control-plane', 'eu-my-cluster']]);
    expect(referencesOf('AWSFargateProfile')).to.deep.equal(['eu-my-cluster', 'eu-my-cluster']);
  });

  /**
   * Runs two pods on the profile `default_web`. The test's API server also stands in for the EKS cluster's API server.
   */
  async function applyPods(): Promise<void> {
    await applyKubeconfigSecret(world, 'my-cluster');
    await world.createNamespace('shop');
    for (const name of ['a', 'b']) await applyFargatePod(world, name, { kubelet: 'v1.34.0-eks-1' });
  }

  async function keysOfSettings(): Promise<readonly string[]> {
    const { stdout } = await world.kubectl(['get', 'configmap', 'argocd-cm', '-n', 'argocd', '-o', 'json']);
    return Object.keys((JSON.parse(stdout) as { readonly data: object }).data);
  }
});
