import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startConnectProxy } from '../testing/connect-proxy.ts';
import { kubeconfigOf } from '../testing/fixtures.ts';
import { errorMessage } from '../text/error-text.ts';
import { systemClock } from '../env/system.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { loadKubeconfig } from './kubeconfig.ts';
import { readText, type TransportRequest } from '../client/transport.ts';
import { connect, type ApiServerConnections } from './undici-transport.ts';

describe('connect', () => {
  let dir = '';
  let server: Server;
  let handle: (request: IncomingMessage, response: ServerResponse) => void;
  let seen: IncomingMessage[];
  let connections: number;
  let transport: ApiServerConnections | undefined;
  const port = (): number => (server.address() as AddressInfo).port;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'transport-'));
    seen = [];
    connections = 0;
    handle = (_, response) => response.end('{}');
    server = createServer((request, response) => {
      seen.push(request);
      handle(request, response);
    });
    server.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await transport?.close();
    transport = undefined;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(dir, { recursive: true });
  });

  const open = (user: object, { cluster = {}, path = '', clock = systemClock } = {}): ApiServerConnections => {
    const file = join(dir, 'config');
    const url = `http://127.0.0.1:${port()}${path}`;
    writeFileSync(file, kubeconfigOf({ server: url, 'insecure-skip-tls-verify': true, ...cluster }, user));
    transport = connect({ load: () => loadKubeconfig({ path: file, env: {}, home: dir }), clock });
    return transport;
  };
  const send = (request: Partial<TransportRequest> = {}) => {
    if (transport === undefined) return expect.fail('not open');
    return transport.send({
      method: 'GET',
      path: '/api',
      headers: {},
      signal: new AbortController().signal,
      ...request,
    });
  };
  const ask = async (request: Partial<TransportRequest> = {}): Promise<number> => {
    const { status, body } = await send(request);
    await readText(body);
    return status;
  };
  const authorizations = (): readonly (string | undefined)[] => seen.map(({ headers }) => headers.authorization);

  /** Writes an exec plugin that counts its runs, and returns the kubeconfig user that has this plugin. */
  function plugin(script: string): object {
    const command = join(dir, 'plugin.sh');
    writeFileSync(command, `#!/bin/sh\necho run >> "${dir}/runs"\n${script}\n`);
    chmodSync(command, 0o755);
    return {
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command, env: [{ name: 'STAGE', value: 'test' }] },
    };
  }
  const credential = (token: string, expires?: string): string =>
    `echo '${JSON.stringify({ kind: 'ExecCredential', status: { token, expirationTimestamp: expires } })}'`;

  it('sends method, path, headers and body, and streams the response', async () => {
    open({ token: 'secret' }, { path: '/k8s/clusters/c-1/' });
    let body = '';
    handle = (request, response) => {
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => response.writeHead(201, { 'X-Two': ['a', 'b'] }).end('größer'));
    };
    const response = await send({
      method: 'POST',
      path: '/api?x=1',
      headers: { 'user-agent': 'example' },
      body: '{"a":"ö"}',
    });
    expect(response.status).to.equal(201);
    expect(response.headers['x-two']).to.equal('a, b');
    expect(await readText(response.body)).to.equal('größer');
    expect(body).to.equal('{"a":"ö"}');
    expect(seen[0]).to.include({ method: 'POST', url: '/k8s/clusters/c-1/api?x=1' });
    expect(seen[0]?.headers).to.include({ authorization: 'Bearer secret', 'user-agent': 'example' });
    expect(transport?.host).to.equal(`127.0.0.1:${port()}`);
  });

  it('answers a request about the Lease while hanging requests occupy all other connections', async () => {
    const { forLease } = open({ token: 'secret' });
    const occupied = Promise.withResolvers<void>();
    handle = (request, response) => {
      if (request.url === '/lease') response.end('renewed');
      else if (seen.length === 64) occupied.resolve();
    };
    const stop = new AbortController();
    const hanging = Array.from({ length: 100 }, () => send({ path: '/hangs', signal: stop.signal }).catch(() => {}));
    await occupied.promise;
    const request = { method: 'GET', path: '/lease', headers: {}, signal: stop.signal } as const;
    expect(await readText((await forLease.send(request)).body)).to.equal('renewed');
    stop.abort();
    await Promise.all(hanging);
  });

  it('reuses its connections for later requests', async () => {
    open({ token: 'secret' });
    for (let i = 0; i < 50; i++) await ask();
    // The test allows two connections, because the pool sometimes gets the first connection back only after the test
    // has read the response and has sent the next request.
    expect(connections).to.be.at.most(2);
  });

  it('aborts a request with its signal, before and within the response', async () => {
    open({ token: 'secret' });
    const arrived = Promise.withResolvers<void>();
    handle = (request, response) => {
      if (request.url === '/body') response.write('begun');
      else arrived.resolve();
    };
    const controller = new AbortController();
    const waiting = send({ path: '/headers', signal: controller.signal }).catch((error: unknown) => error);
    const { body } = await send({ path: '/body', signal: controller.signal });
    const reading = readText(body).catch((error: unknown) => error);
    await arrived.promise;
    controller.abort(new Error('enough'));
    expect(await waiting).to.be.an('error');
    expect(await reading).to.be.an('error');
  });

  it('closes the connection of a body that is not read to its end', async () => {
    open({ token: 'secret' });
    handle = (request, response) => {
      response.write('first');
      if (request.url !== '/endless') response.end();
    };
    const { body } = await send({ path: '/endless' });
    for await (const _ of body) break;
    await ask();
    expect(connections).to.equal(2);
  });

  it('rejects with the network error', async () => {
    open({ token: 'secret' });
    const closed = port();
    await new Promise((resolve) => server.close(resolve));
    const error = await send().catch((caught: unknown) => caught);
    expect(errorMessage(error)).to.contain(`ECONNREFUSED 127.0.0.1:${closed}`);
    server.listen(0, '127.0.0.1');
  });

  it('authenticates with a password, and impersonates a user', async () => {
    open({ username: 'ann', password: 'pässword', as: 'bob' });
    await ask();
    expect(authorizations()).to.deep.equal([`Basic ${Buffer.from('ann:pässword').toString('base64')}`]);
    expect(seen[0]?.headers['impersonate-user']).to.equal('bob');
  });

  it('sends the request again with new credentials after 401, and returns the second 401', async () => {
    const clock = new VirtualClock();
    const runs = plugin(`if [ -e "${dir}/second" ]; then ${credential('second')}; else ${credential('first')}; fi`);
    open(runs, { clock });
    let accepted = 'Bearer first';
    handle = (request, response) =>
      response.writeHead(request.headers.authorization === accepted ? 200 : 401).end('{}');
    expect(await ask()).to.equal(200);
    writeFileSync(join(dir, 'second'), '');
    accepted = 'Bearer second';
    expect(await ask()).to.equal(200);
    expect(authorizations()).to.deep.equal(['Bearer first', 'Bearer first', 'Bearer second']);

    accepted = 'Bearer nobody';
    seen.length = 0;
    for (let i = 0; i < 5; i++) expect(await ask()).to.equal(401);
    expect(authorizations()).to.deep.equal(Array.from({ length: 5 }, () => 'Bearer second'));
  });

  describe('with an exec plugin', () => {
    it('runs the plugin once while its credentials are valid', async () => {
      const clock = new VirtualClock();
      open(
        { ...plugin(`${credential('t')}; echo "$KUBERNETES_EXEC_INFO $STAGE" > "${dir}/info"`), as: 'bob' },
        { clock },
      );
      await Promise.all([ask(), ask(), ask()]);
      await clock.advance(60_000);
      await ask();
      expect(readLines(join(dir, 'runs'))).to.equal(1);
      expect(authorizations()).to.deep.equal(Array.from({ length: 4 }, () => 'Bearer t'));
      expect(seen[0]?.headers['impersonate-user']).to.equal('bob');
      expect(readFile(join(dir, 'info'))).to.equal(
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}} test\n',
      );
    });

    it('tells a plugin with provideClusterInfo the cluster', async () => {
      const user = { exec: { command: join(dir, 'plugin.sh'), provideClusterInfo: true } };
      plugin(`echo "$KUBERNETES_EXEC_INFO" > "${dir}/info"; ${credential('t')}`);
      const extension = { name: 'client.authentication.k8s.io/exec', extension: { audience: 'prod' } };
      writeFileSync(join(dir, 'ca.crt'), '-----BEGIN CERTIFICATE-----');
      open(user, {
        cluster: { 'certificate-authority': 'ca.crt', extensions: [{ name: 'other', extension: 1 }, extension] },
      });
      await ask();
      expect(JSON.parse(readFile(join(dir, 'info')))).to.deep.include({
        spec: {
          cluster: {
            server: `http://127.0.0.1:${port()}`,
            'insecure-skip-tls-verify': true,
            'certificate-authority-data': Buffer.from('-----BEGIN CERTIFICATE-----').toString('base64'),
            config: { audience: 'prod' },
          },
          interactive: false,
        },
      });
    });

    it('reports a plugin that fails, and runs it again for the next request', async () => {
      open(plugin('echo "no such user" >&2; exit 7'));
      expect(errorMessage(await send().catch((error: unknown) => error))).to.match(
        /^reading the credentials of kubeconfig \S+: the exec plugin "\S+\/plugin\.sh" failed with exit code 7\. Run it in a shell to see what it prints, which is not shown here because it may contain secrets$/,
      );
      writeFileSync(join(dir, 'plugin.sh'), `#!/bin/sh\n${credential('t')}\n`);
      expect(await ask()).to.equal(200);
    });

    it('reports a plugin that is not installed', async () => {
      open({ exec: { command: 'no-such-plugin' } });
      expect(errorMessage(await send().catch((error: unknown) => error))).to.match(
        /: the exec plugin "no-such-plugin" cannot be run: ENOENT$/,
      );
    });

    it('reports a plugin that prints something else', async () => {
      for (const script of ['echo hello', `echo '{"status":{}}'`]) {
        open(plugin(script));
        expect(errorMessage(await send().catch((error: unknown) => error))).to.contain('printed no ExecCredential');
      }
    });

    it('does not wait for a plugin longer than 20 s', async () => {
      const clock = new VirtualClock();
      open(plugin('exec sleep 3'), { clock });
      const failed = send().catch((error: unknown) => error);
      await clock.runUntil(() => clock.pendingTimers().length > 0, { limitMs: 0 });
      await clock.advance(20_000);
      expect(errorMessage(await failed)).to.match(/^credentials of kubeconfig .*: no result within 20 s$/);
    });
  });

  it('sends requests through the proxy of the cluster', async () => {
    const proxy = await startConnectProxy();
    try {
      open({ token: 'secret' }, { cluster: { 'proxy-url': proxy.url.href } });
      expect(await ask()).to.equal(200);
      expect(proxy.targets).to.deep.equal([`127.0.0.1:${port()}`]);
      await transport?.close();
    } finally {
      await proxy.close();
    }
  });

  it('rejects requests after close', async () => {
    open({ token: 'secret' });
    await transport?.close();
    expect(await send().catch((error: unknown) => error))
      .to.be.an('error')
      .with.property('message', 'the transport is closed');
    expect(seen).to.have.length(0);
  });
});

const readFile = (path: string): string => readFileSync(path, 'utf8');
const readLines = (path: string): number => readFile(path).trim().split('\n').length;
