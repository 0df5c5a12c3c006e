import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorMessage } from 'controller-runtime/text';
import { quietIo } from '../testing/quiet-io.ts';
import { readManifests } from './manifests.ts';

const API_VERSION = 'infrastructure.cluster.x-k8s.io/v1beta2';
const profile = (name: string): string =>
  `apiVersion: ${API_VERSION}\nkind: AWSFargateProfile\nmetadata: {name: ${name}}\nspec: {}\n`;

describe('readManifests', () => {
  const read = (paths: readonly string[], stdin = ''): Promise<readonly string[]> =>
    readManifests(paths, quietIo({ readStdin: async () => stdin })).then(
      (manifests) => manifests.map(({ source, name }) => `${source} ${name}`),
      (error: unknown) => [errorMessage(error)],
    );

  it('reads each AWSFargateProfile of standard input with its line, and leaves out other kinds', async () => {
    const text = `kind: Service\nmetadata: {name: x}\n---\n${profile('a')}---\n# nothing\n---\n${profile('b')}`;
    expect(await read(['-'], text)).to.deep.equal(['standard input:4 a', 'standard input:11 b']);
    expect(await read(['-'], '')).to.deep.equal([]);
  });

  it('reads the items of a List', async () => {
    const item = { apiVersion: API_VERSION, kind: 'AWSFargateProfile', metadata: { name: 'a' } };
    const list = JSON.stringify({ kind: 'List', items: [{ kind: 'Pod' }, item] });
    expect(await read(['-'], list)).to.deep.equal(['standard input:1 a']);
    expect(await read(['-'], JSON.stringify({ kind: 'AWSFargateProfileList', items: [item] }))).to.have.length(1);
  });

  it('reads the manifests of a folder in the order of their names, and empty files too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plan-'));
    try {
      writeFileSync(join(folder, 'b.yml'), profile('b'));
      writeFileSync(join(folder, 'a.yaml'), profile('a'));
      writeFileSync(join(folder, 'empty.yaml'), '');
      writeFileSync(join(folder, 'notes.txt'), profile('c'));
      expect(await read([folder])).to.deep.equal([`${folder}/a.yaml:1 a`, `${folder}/b.yml:1 b`]);
      expect(await read([join(folder, 'notes.txt')])).to.deep.equal([`${folder}/notes.txt:1 c`]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names file and line of what is wrong', async () => {
    const other = profile('a').replace('v1beta2', 'v1beta1');
    expect(await read(['-'], `---\n${other}`)).to.deep.equal([
      `standard input:2: apiVersion is "infrastructure.cluster.x-k8s.io/v1beta1"; an AWSFargateProfile of this provider has ${API_VERSION}`,
    ]);
    expect(await read(['-'], profile("''"))).to.deep.equal(['standard input:1: metadata.name is missing']);
    expect((await read(['-'], `${profile('a')}  wrong`)).join()).to.match(/^standard input:\d+:\d+: /);
    expect((await read(['/no/such'])).join()).to.match(/^reading \/no\/such: ENOENT/);
  });
});
