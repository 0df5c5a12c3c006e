import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { kubectl } from '../envtest/kubectl.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  let controlPlane: ControlPlane;
  before(async () => {
    controlPlane = await startControlPlane();
  });
  after(() => controlPlane.stop());

  it('installs the CRD as it says, and shows a manifest that the API server takes whole', async () => {
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
});
