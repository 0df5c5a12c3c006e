import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import { startConnectProxy, type ConnectProxy } from '../testing/connect-proxy.ts';
import { sleep, untilAborted } from '../async/deadline.ts';
import { systemClock } from '../env/system.ts';
import { newDispatcher } from './dispatcher.ts';

const CONNECTIONS = 2;
/** Longer than any test takes, in ms. */
const FOREVER = 180_000;

/** Calls `attempt` until it does not throw. After {@link FOREVER}, throws its last error. */
async function eventually(attempt: () => unknown): Promise<void> {
  const { signal } = new AbortController();
  for (const end = systemClock.monotonic() + FOREVER; ; await sleep(systemClock, 5, signal))
    try {
      await attempt();
      return;
    } catch (error) {
      if (systemClock.monotonic() > end) throw error;
    }
}

describe('a dispatcher behind a proxy', () => {
  let server: Server;
  let origin = '';
  let proxy: ConnectProxy;
  let dispatcher: Dispatcher;

  beforeEach(async () => {
    server = createServer((_, response) => response.end('answer'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    proxy = await startConnectProxy();
  });
  afterEach(async () => {
    await dispatcher.destroy();
    await proxy.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const open = (connectTimeout: number): void => {
    dispatcher = newDispatcher({ proxy: proxy.url, connections: CONNECTIONS, connectTimeout });
  };
  const request = (caller: AbortSignal): Promise<string> =>
    untilAborted(caller, async (signal) =>
      (await dispatcher.request({ origin, path: '/', method: 'GET', signal })).body.text(),
    );
  /** Sends as many requests as the dispatcher has connections; the proxy leaves all of them without an answer. */
  const occupyAll = async (signal: AbortSignal): Promise<readonly Promise<unknown>[]> => {
    proxy.answer('silence');
    const requests = Array.from({ length: CONNECTIONS }, () => request(signal).catch((error: unknown) => error));
    await eventually(() => expect(proxy.targets).to.have.length(CONNECTIONS));
    return requests;
  };

  it('sends requests again after the proxy has stopped answering for a while', async () => {
    open(2_000);
    const caller = new AbortController();
    const requests = await occupyAll(caller.signal);
    caller.abort(new Error('enough'));
    for (const each of requests) expect(await each).to.have.property('message', 'enough');
    proxy.answer('tunnel');
    // On a busy machine, a new connection may exceed the time limit too.
    await eventually(async () => expect(await request(new AbortController().signal)).to.equal('answer'));
  });

  it('is destroyed at once while the proxy does not answer', async () => {
    open(FOREVER);
    const requests = await occupyAll(new AbortController().signal);
    await dispatcher.destroy();
    for (const each of requests) expect(await each).to.have.property('name', 'ClientDestroyedError');
  });
});
