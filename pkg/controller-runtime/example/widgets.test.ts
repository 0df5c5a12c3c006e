import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { FakeApiServer, MemoryLogger, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { newWidgetManager } from './widgets.ts';

describe('The example of the README', () => {
  it('is a controller that sets the status of each Widget', async () => {
    const [clock, random, logger] = [new VirtualClock(), new SeededRandom(1), new MemoryLogger()];
    const kinds = [{ group: 'example.org', plural: 'widgets', kind: 'Widget', versions: ['v1'] }];
    const server = new FakeApiServer({ clock, random, kinds });
    const create = (name: string) => server.storage.create(server.kind('widgets'), 'default', { metadata: { name } });
    const statusOf = (name: string) =>
      server.storage.get(server.kind('widgets'), { namespace: 'default', name })?.['status'];
    const stop = new AbortController();
    const client = createKubeClient({ transport: server, clock });
    const ended = newWidgetManager(client, clock, random, logger).run(stop.signal);

    create('early');
    await clock.advance(1_000);
    create('late');
    await clock.advance(1_000);
    expect([statusOf('early'), statusOf('late')]).to.deep.equal([{ ready: true }, { ready: true }]);
    stop.abort();
    await ended;
    expect([clock.pendingTimers(), server.openWatches]).to.deep.equal([[], 0]);
  });

  it('is the code in the README', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
    expect(read('../README.md')).to.contain(`\`\`\`ts\n${read('widgets.ts')}\`\`\``);
  });
});
