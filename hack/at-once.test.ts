import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const PROGRAM = fileURLToPath(new URL('at-once.ts', import.meta.url));
const TEXT = 'one\ntwo\n';

/**
 * Runs hack/at-once.ts with the given commands. Sends SIGTERM to hack/at-once.ts once its output contains
 * `terminateAt`.
 */
async function runAtOnce(
  commands: readonly string[],
  terminateAt?: string,
): Promise<{ readonly code: unknown; readonly text: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...commands], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  let isTerminated = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (terminateAt === undefined || isTerminated || !text.includes(terminateAt)) return;
      isTerminated = child.kill('SIGTERM');
    });
  const closed: unknown[] = await once(child, 'close');
  return { code: closed[0], text };
}

describe('the program that runs commands at the same time', () => {
  let folder: string;
  let untilTerminated: string;
  let failing: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capaf-at-once-'));
    const started = join(folder, 'started');
    untilTerminated = `bash -c 'trap "echo ended; exit 3" TERM; touch ${started}; echo started; while :; do sleep 0.05; done'`;
    // This command waits until the command `untilTerminated` has set its trap for SIGTERM, and then fails.
    failing = `bash -c 'until [ -e ${started} ]; do sleep 0.05; done; exit 1'`;
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('prints the output of the first command in one piece, and succeeds when all commands succeed', async () => {
    const { code, text } = await runAtOnce([`bash -c 'echo one; sleep 0.1; echo two'`, 'yes | head -n 50000']);
    expect(code).to.equal(0);
    expect(text.replaceAll('y\n', '')).to.equal(TEXT);
    expect(text)
      .to.contain(TEXT)
      .and.to.have.length(TEXT.length + 100_000);
  });

  for (const which of ['first', 'last'])
    it(`ends the other command and fails when the ${which} command fails`, async () => {
      const commands = which === 'first' ? [failing, untilTerminated] : [untilTerminated, failing];
      const { code, text } = await runAtOnce(commands);
      expect(code).to.equal(3);
      expect(text).to.contain(`failed with 1: ${failing}\n`).and.to.contain(`failed with 3: ${untilTerminated}\n`);
    });

  it('ends the commands at SIGTERM', async () => {
    const { code, text } = await runAtOnce([untilTerminated], 'started\n');
    expect(code).to.equal(3);
    expect(text).to.contain('ended\n');
  });

  it('ends the commands at a SIGTERM that arrives while it still starts commands', async () => {
    const terminateParent = `bash -c 'kill -TERM $PPID'`;
    // The first of 40 commands sends SIGTERM to hack/at-once.ts long before the last command starts.
    const { code, text } = await runAtOnce([terminateParent, ...Array.from({ length: 39 }, () => 'sleep 60')]);
    expect(code).to.equal(1);
    expect(text.match(/^failed with SIGTERM: sleep 60$/gm)).to.have.length(39);
  });
});
