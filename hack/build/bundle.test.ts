import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { bundle } from './bundle.ts';
import { ENVIRONMENT, HASHBANG, NODE_FLAGS } from './node-flags.ts';
import { collectNotices } from './notices.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

const source = `
import { right } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { STSClient } from '@aws-sdk/client-sts';
import { KubeConfig } from '@kubernetes/client-node';
import { createLogger, transports } from 'winston';
import { VERSION } from ${JSON.stringify(join(root, 'pkg/version.ts'))};
const logger = createLogger({ transports: [new transports.Console()] });
const sts = new STSClient({ region: 'eu-west-1' });
logger.info(VERSION, {
  decoded: t.string.decode('x'),
  made: right('x'),
  service: sts.config.serviceId,
  contexts: new KubeConfig().getContexts(),
  flags: process.execArgv,
  arenas: process.env.MALLOC_ARENA_MAX,
  loaded: process.moduleLoadList.filter((module) => module.includes('undici')),
});
`;

describe('the bundle', () => {
  let directory = '';
  let inputs: readonly string[] = [];

  before(async () => {
    // The temporary directory of the test is inside the repository, so that the imports of the bundle's entry file
    // resolve to the repository's node_modules.
    await mkdir(join(root, '.tmp'), { recursive: true });
    directory = await mkdtemp(join(root, ".tmp/bundle of 'me' $HOME-"));
    const entry = join(directory, 'entry.ts');
    await writeFile(entry, source);
    const outfile = join(directory, 'out/manager.mjs');
    ({ inputs } = await bundle({
      entry: relative(root, entry),
      outfile,
      version: 'v1.2.3',
      root,
      program: 'The test',
      hashbang: HASHBANG,
    }));
  });
  after(async () => {
    await rm(directory, { recursive: true });
  });

  it('is a program that runs with the flags of Node.js and the environment variables', async () => {
    const program = join(directory, 'out/manager.mjs');
    const [first] = (await readFile(program, 'utf8')).split('\n', 1);
    expect(first).to.equal(HASHBANG);
    const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    const { stdout, stderr } = await run(program, [], { cwd: tmpdir(), env });
    expect(stderr).to.equal('');
    expect(JSON.parse(stdout)).to.deep.include({
      message: 'v1.2.3',
      decoded: { _tag: 'Right', right: 'x' },
      made: { _tag: 'Right', right: 'x' },
      service: 'STS',
      contexts: [],
      loaded: [],
      flags: NODE_FLAGS,
      arenas: ENVIRONMENT['MALLOC_ARENA_MAX'],
    });
  });

  describe('with an old Node.js', () => {
    const runWithOldNode = async (): Promise<unknown> => {
      const preload = join(directory, 'old-node.cjs');
      const define = (name: string, value: unknown): string =>
        `Object.defineProperty(process, '${name}', { value: ${JSON.stringify(value)} });`;
      const versions = { ...process.versions, node: '20.20.2' };
      await writeFile(preload, define('versions', versions) + define('version', 'v20.20.2'));
      return run(process.execPath, ['--require', preload, join(directory, 'out/manager.mjs')]).then(
        () => 'no error',
        ({ code, stderr }: { readonly code: number; readonly stderr: string }) => ({ code, stderr }),
      );
    };

    it('names the version that it needs', async () => {
      const stderr = 'The test needs Node.js 22.19 or newer; this is v20.20.2.\n';
      expect(await runWithOldNode()).to.deep.equal({ code: 1, stderr });
    });

    it('names the Node.js of the clone', async () => {
      const installed = join(directory, 'node_modules/.bin');
      await mkdir(installed, { recursive: true });
      await writeFile(join(installed, 'node'), '');
      const quoted = `'${installed.replaceAll("'", `'\\''`)}'`;
      const command = `export PATH=${quoted}:"$PATH"`;
      const stderr = `The test needs Node.js 22.19 or newer; this is v20.20.2. "make" has installed one: ${command}\n`;
      expect(await runWithOldNode()).to.deep.equal({ code: 1, stderr });
      const { stdout } = await run('/bin/sh', ['-c', `${command}; printf %s "$PATH"`], { env: { PATH: '/bin' } });
      expect(stdout).to.equal(`${installed}:/bin`);
    });
  });

  it('contains one build of fp-ts and io-ts', () => {
    const builds = inputs.flatMap((input) => /node_modules\/(?:fp|io)-ts\/[^/]+/.exec(input) ?? []);
    expect([...new Set(builds)].toSorted()).to.deep.equal(['node_modules/fp-ts/es6', 'node_modules/io-ts/es6']);
  });

  it('has a source map that contains the sources', async () => {
    const code = await readFile(join(directory, 'out/manager.mjs'), 'utf8');
    expect(code).to.match(/\n\/\/# sourceMappingURL=manager\.mjs\.map\n$/);
    const map: unknown = JSON.parse(await readFile(join(directory, 'out/manager.mjs.map'), 'utf8'));
    expect(map)
      .to.have.property('sourcesContent')
      .that.includes(await readFile(join(root, 'pkg/version.ts'), 'utf8'));
  });

  it('is ASCII, so that Node.js keeps one byte per character', async () => {
    expect((await readFile(join(directory, 'out/manager.mjs'))).every((byte) => byte < 0x80)).to.equal(true);
  });

  it('contains no model class of client-node', () => {
    const ofClient = inputs.filter((input) => input.includes('@kubernetes/client-node'));
    expect(ofClient).to.include('node_modules/@kubernetes/client-node/dist/config.js');
    expect(ofClient.filter((input) => input.includes('/models/'))).to.deep.equal([]);
  });

  it('contains no unused part of undici', () => {
    const ofUndici = inputs.filter((input) => input.includes('/undici/lib/'));
    expect(ofUndici).to.include('node_modules/undici/lib/dispatcher/client.js');
    expect(
      ofUndici.filter((input) => /\/(?:mock|cache|interceptor|websocket|eventsource)\//.test(input)),
    ).to.deep.equal([]);
  });

  it('contains only packages with permissive licences', () => {
    const names = collectNotices(root, inputs).map(({ name }) => name);
    expect(names).to.include.members(['@aws-sdk/client-sts', '@kubernetes/client-node', 'fp-ts', 'winston']);
  });
});
