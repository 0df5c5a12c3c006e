import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { expect } from 'chai';

const MODULE = createRequire(import.meta.url).resolve('./require-node.cjs');

/**
 * Loads hack/require-node.cjs in a process in which Node.js reports the given version. Returns the exit code and the
 * output on stderr.
 */
async function loadIn(version: string): Promise<{ readonly code: unknown; readonly stderr: string }> {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: ${JSON.stringify(version)} })`;
  const args = ['-e', `${pretend}; require(${JSON.stringify(MODULE)})`];
  return promisify(execFile)(process.execPath, args).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: { code: unknown; stderr: string }) => ({ code: error.code, stderr: error.stderr }),
  );
}

describe('the check of the version of Node.js', () => {
  for (const version of ['22.19.0', '24.0.0'])
    it(`accepts ${version}`, async () => {
      expect(await loadIn(version)).to.deep.equal({ code: 0, stderr: '' });
    });

  for (const version of ['20.20.2', '22.18.9'])
    it(`refuses ${version}, and names the remedy`, async () => {
      const { code, stderr } = await loadIn(version);
      expect(code).to.equal(1);
      expect(stderr).to.contain(`this is Node ${version}`).and.to.contain('Run "make test"');
    });
});
