import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { kubectl } from '../../envtest/clients/kubectl.ts';
import { EMPTY_SET_UP, acquireControlPlane } from '../../envtest/control-plane/pool.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  let controlPlane: ControlPlane;
  before(async () => {
    controlPlane = await acquireControlPlane(EMPTY_SET_UP);
  });
  after(() => controlPlane.stop());

  it('has commands that install the CRD, and a manifest that the API server accepts unchanged', async () => {
    const install = ['apply', '--server-side', '--force-conflicts', '-k'];
    expect(readme).to.contain(`kubectl ${install.join(' ')} config/crd\n`);
    const installed = await kubectl(controlPlane, [...install, `${root}config/crd`]);
    expect(installed.code, installed.stderr).to.equal(0);
    await kubectl(controlPlane, ['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);

    const manifest = /```yaml\n([^]+?)```/.exec(readme)?.[1] ?? '';
    const applied = await kubectl(controlPlane, ['apply', '--validate=strict', '-f', '-'], { stdin: manifest });
    expect(applied.stderr).to.equal('');
    expect(applied.stdout).to.equal('awsfargateprofile.infrastructure.cluster.x-k8s.io/web created\n');
  });

  it('leads to a health script for Argo CD that is added to the settings of Argo CD', async () => {
    const settings = (key: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'argocd-cm', namespace: 'argocd' },
        data: { [key]: 'kept' },
      });
    await kubectl(controlPlane, ['create', 'namespace', 'argocd']);
    for (const [key, ...args] of [['server-side', '--server-side'], ['client-side']]) {
      const { code, stderr } = await kubectl(controlPlane, ['apply', ...args, '-f', '-'], {
        stdin: settings(key ?? ''),
      });
      expect(code, stderr).to.equal(0);
    }
    const before = await keysOfSettings();
    expect(before).to.have.members(['server-side', 'client-side']);

    const gitops = readFileSync(join(root, 'docs/gitops.md'), 'utf8');
    const [, command = ''] = /^kubectl (.* config\/argocd\/argocd-cm\.yaml)$/m.exec(gitops) ?? [];
    const { code, stderr } = await kubectl(controlPlane, command.replace('config/', `${root}config/`).split(' '));
    expect(code, stderr).to.equal(0);
    const script = 'resource.customizations.health.infrastructure.cluster.x-k8s.io_AWSFargateProfile';
    expect(await keysOfSettings()).to.have.members([...before, script]);
  });

  async function keysOfSettings(): Promise<readonly string[]> {
    const { stdout } = await kubectl(controlPlane, ['get', 'configmap', 'argocd-cm', '-n', 'argocd', '-o', 'json']);
    return Object.keys((JSON.parse(stdout) as { readonly data: object }).data);
  }

  it('has a kustomization that the API server accepts, with the image that the release has', async () => {
    const blocks = [...readme.matchAll(/```yaml\n([^]+?)```/g)].map(([, block = '']) => block);
    const kustomization = blocks.find((block) => block.startsWith('resources:')) ?? '';
    const image = /IMAGE=(\S+)/.exec(readme)?.[1] ?? '';
    const directory = mkdtempSync(join(root, '.tmp/readme-'));
    try {
      writeFileSync(join(directory, 'kustomization.yaml'), kustomization.replaceAll('config/', '../../config/'));
      const rendered = renderKustomization(controlPlane.kubectlPath, directory);
      expect(rendered.match(/image: .*/g)).to.deep.equal([`image: ${image}:v0.1.0`]);
      expect(rendered).to.contain('secretName: capaf-manager-credentials');
      // A dry run cannot create objects in a namespace that does not exist.
      await kubectl(controlPlane, ['create', 'namespace', 'capaf-system']);
      const apply = 'apply --server-side --force-conflicts -k';
      expect(readme).to.contain(`\`kubectl ${apply} .\``);
      const applied = await kubectl(controlPlane, [...apply.split(' '), directory, '--dry-run=server']);
      expect(applied.code, applied.stderr).to.equal(0);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
