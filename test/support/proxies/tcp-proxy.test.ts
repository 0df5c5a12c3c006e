import { once } from 'node:events';
import { type Socket, createConnection, createServer } from 'node:net';
import { expect } from 'chai';
import { listenOnLoopback } from './listen.ts';
import { resetConnection } from './tcp-proxy.ts';

describe('a reset of a connection', () => {
  async function connect(): Promise<{ readonly client: Socket; readonly peer: Socket; readonly close: () => void }> {
    const server = createServer({ allowHalfOpen: true });
    const port = await listenOnLoopback(server);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = createConnection(port, '127.0.0.1');
    await once(client, 'connect');
    const [peer] = await accepted;
    return { client, peer, close: () => server.close() };
  }

  it('is an error for the other side', async () => {
    const { client, peer, close } = await connect();
    const error = once(peer, 'error');
    resetConnection(client);
    expect(await error).to.have.nested.property('[0].code', 'ECONNRESET');
    close();
  });

  it('closes the socket also while the socket sends its end', async () => {
    const { client, peer, close } = await connect();
    const closed = once(client, 'close');
    client.end();
    resetConnection(client);
    await closed;
    peer.destroy();
    close();
  });
});
