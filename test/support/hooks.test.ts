import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Run {
  readonly code: number | null;
  readonly output: string;
}

async function runMocha(...args: readonly string[]): Promise<Run> {
  // If this test runs in a worker of Mocha, MOCHA_WORKER_ID is set. The new Mocha process must not take itself for a
  // worker.
  const { MOCHA_WORKER_ID: _, ...inherited } = process.env;
  const env = { ...inherited, OPEN_HANDLES_GRACE_MS: '500' };
  const child = spawn(process.execPath, [join(root, 'node_modules/mocha/bin/mocha.js'), ...args], { cwd: root, env });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, output };
}

describe('the root hooks', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hooks-'));
  });
  after(async () => {
    await rm(directory, { recursive: true });
  });

  async function run(body: string): Promise<Run> {
    const file = join(directory, 'fixture.test.ts');
    await writeFile(file, body);
    return runMocha(file);
  }

  it('detect unhandled rejections in every file of a parallel worker', async () => {
    const files = ['first', 'second', 'third'].map((name) => join(directory, `${name}.test.ts`));
    for (const file of files.slice(0, 2)) {
      await writeFile(file, `it('waits', () => new Promise((resolve) => setTimeout(resolve, 200)));`);
    }
    await writeFile(
      files[2] ?? '',
      `it('drops a promise', async () => {
        void Promise.reject(new Error('dropped'));
        await new Promise((resolve) => setTimeout(resolve, 20));
      });`,
    );
    const { code, output } = await runMocha('--parallel', '--jobs', '2', ...files);
    expect(output).to.contain('2 passing');
    expect(output).to.contain('unhandled rejection: dropped');
    expect(code).to.not.equal(0);
  });

  it('fail and end a run with an open server, timer and child process, and name them', async () => {
    const { code, output } = await run(`
      import { spawn } from 'node:child_process';
      import { createServer } from 'node:http';
      it('forgets', (done) => {
        const child = spawn('sleep', ['60']);
        process.on('exit', () => child.kill());
        setTimeout(() => {}, 60_000);
        createServer().listen(0, () => done());
      });
    `);
    expect(output).to.contain('1 × TCPServerWrap').and.to.contain('1 × Timeout').and.to.contain('1 × ProcessWrap');
    expect(code).to.equal(1);
  });

  it('name the file and the connection that are left open in a parallel worker, and let its next file run', async () => {
    const files = ['leaks', 'beside', 'next'].map((name) => join(directory, `${name}.test.ts`));
    await writeFile(
      files[0] ?? '',
      `import { createConnection, createServer } from 'node:net';
      it('forgets', (done) => {
        const server = createServer().unref().listen(0, () => createConnection(server.address().port, '127.0.0.1', done));
      });`,
    );
    for (const file of files.slice(1))
      await writeFile(file, `it('runs', () => new Promise((resolve) => setTimeout(resolve, 1500)));`);
    const { code, output } = await runMocha('--parallel', '--jobs', '2', ...files);
    expect(output).to.match(/TCPSocketWrap[^]*file: \S+leaks\.test\.ts\nconnection: \S+:\d+ → \S+:\d+/);
    expect(output).to.contain('3 passing').and.not.to.contain('terminated');
    expect(code).to.not.equal(0);
  });
});
