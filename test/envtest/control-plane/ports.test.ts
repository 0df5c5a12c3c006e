import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { freePorts } from './ports.ts';

/** The number of ports that a test process can choose: its block without the port on which it listens. */
const USABLE = 127;
/** Chooses ports and sends them to the parent process. Then keeps running until the parent process kills it. */
const OTHER_PROCESS = `
  import { freePorts } from ${JSON.stringify(new URL('./ports.ts', import.meta.url))};
  process.send(await freePorts(${USABLE}));
  process.once('disconnect', () => {});
`;

describe('freePorts', () => {
  it('chooses each port of this process once before it chooses a port again', async () => {
    const ports = await freePorts(USABLE);
    expect(new Set(ports)).to.have.lengthOf(USABLE);
    expect(await freePorts(USABLE)).to.have.members(ports);
  });

  it('skips ports on which a process listens', async () => {
    const [taken = 0] = await freePorts(1);
    const server = createServer().listen(taken, '127.0.0.1');
    await once(server, 'listening');
    expect(await freePorts(USABLE - 1)).not.to.include(taken);
    const error: unknown = await freePorts(USABLE).catch((thrown: unknown) => thrown);
    expect(String(error)).to.match(/^Error: 127 free ports were asked for, and \d+ to \d+ have fewer$/);
    server.close();
    await once(server, 'close');
  });

  it('chooses no port of another running test process', async () => {
    const ours = await freePorts(USABLE);
    const others = Array.from({ length: 2 }, () =>
      spawn(process.execPath, ['--input-type=module', '--eval', OTHER_PROCESS], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    );
    try {
      const messages = await Promise.all(others.map((other) => once(other, 'message')));
      const theirs = messages.flatMap(([ports]) => ports as readonly number[]);
      expect(new Set([...ours, ...theirs])).to.have.lengthOf(3 * USABLE);
    } finally {
      for (const other of others) {
        other.kill('SIGKILL');
        await once(other, 'close');
      }
    }
  });
});
