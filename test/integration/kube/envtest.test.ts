import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { startControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { eventually } from '../../support/eventually.ts';

/** Whether a process of this user has the id. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the end of a test control plane', () => {
  it('leaves no process and no directory behind', async () => {
    const controlPlane = await startControlPlane();
    const sleeper = await controlPlane.run({ name: 'sleeper', file: '/bin/sleep', args: ['600'] });
    const pids = controlPlane.pids();
    expect(pids).to.include(sleeper.pid).and.to.have.length(4);
    expect(pids.filter(isAlive)).to.deep.equal(pids);
    await controlPlane.stop();
    expect(pids.filter(isAlive)).to.deep.equal([]);
    expect(existsSync(controlPlane.dir)).to.equal(false);
    await controlPlane.stop();
  });

  it('follows when the process that started it is killed', async () => {
    const module = new URL('../../envtest/control-plane/controlplane.ts', import.meta.url);
    const script = `import { startControlPlane } from ${JSON.stringify(module.href)};
      const { dir, pids } = await startControlPlane();
      console.log(JSON.stringify({ dir, pids: pids() }));`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: unknown[] = await once(createInterface(parent.stdout), 'line');
    const { dir, pids } = JSON.parse(String(lines[0])) as { dir: string; pids: number[] };
    expect(pids.filter(isAlive)).to.deep.equal(pids).and.to.have.length(3);
    parent.kill('SIGKILL');
    await eventually(() => !pids.some(isAlive) && !existsSync(dir), { what: 'everything being gone' });
  });

  it('after a failed start is reported with the end of the log', async () => {
    const failure = await startControlPlane({ apiServerArgs: ['--no-such-flag'] }).catch((error: unknown) =>
      String(error),
    );
    expect(failure).to.match(
      /starting the test control plane: kube-apiserver ended with 1 before .*\/readyz answering 200/,
    );
    expect(failure).to.contain('unknown flag: --no-such-flag');
  });
});
