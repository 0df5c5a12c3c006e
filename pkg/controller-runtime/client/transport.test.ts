import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createKubeClient } from './client.ts';
import { isNoAnswer } from './errors.ts';
import { json } from '../testing/fake-api-server.ts';
import { keyFor, newFakeApiEnvironment, widgets } from '../testing/fixtures.ts';
import { observeRequests } from './transport.ts';

describe('observeRequests', () => {
  it('sends the User-Agent, and counts each request by its outcome', async () => {
    const { server, signal } = newFakeApiEnvironment();
    const counted: string[] = [];
    const agents: (string | undefined)[] = [];
    const observed = observeRequests(
      {
        host: server.host,
        send(request) {
          agents.push(request.headers['user-agent']);
          return server.send(request);
        },
      },
      {
        userAgent: 'example/v0 (linux/amd64)',
        count: ({ code, method, host }) => counted.push(`${code} ${method} ${host}`),
      },
    );
    const client = createKubeClient({ transport: observed, clock: new VirtualClock() });
    await client.list(widgets, { signal });
    await client.get(widgets, keyFor('a'), { signal });
    server.intercept = () => new Error('reset');
    expect(await client.list(widgets, { signal }).catch((error: unknown) => error)).to.satisfy(isNoAnswer);
    expect(counted).to.deep.equal([
      '200 GET kubernetes.test',
      '404 GET kubernetes.test',
      '<error> GET kubernetes.test',
    ]);
    expect(new Set(agents)).to.deep.equal(new Set(['example/v0 (linux/amd64)']));
  });

  it('logs each warning of the server once', async () => {
    const { server, signal } = newFakeApiEnvironment();
    const logger = new MemoryLogger();
    let warning = '299 - "unknown field \\"spec.x\\""';
    server.intercept = () => json(200, { metadata: { resourceVersion: '1' } }, { warning });
    const transport = observeRequests(server, { userAgent: 'example/v0', logger });
    const client = createKubeClient({ transport, clock: new VirtualClock() });
    for (let i = 0; i < 5; i++) await client.list(widgets, { signal });
    warning = '299 - "another"';
    await client.list(widgets, { signal });
    expect(logger.linesWith('The API server warns').map(({ keys }) => keys['warning'])).to.deep.equal([
      '299 - "unknown field \\"spec.x\\""',
      '299 - "another"',
    ]);
  });
});
