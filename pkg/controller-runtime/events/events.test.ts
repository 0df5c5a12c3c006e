import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { EventWriter } from './events.ts';
import { json } from '../testing/fake-api-server.ts';
import { newFakeApiEnvironment, widget } from '../testing/fixtures.ts';
import type { KubeObject } from '../client/types.ts';

/** Functions that end a test's writers. */
const running: (() => Promise<void>)[] = [];

function startWriter() {
  const environment = newFakeApiEnvironment();
  const { client, clock, random, server } = environment;
  const logger = new MemoryLogger();
  const writer = new EventWriter({ client, clock, random, logger, component: 'example', instance: 'pod-1' });
  const controller = new AbortController();
  const ended = writer.run(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await ended;
    expect(clock.pendingTimers(), 'timers left armed').to.deep.equal([]);
  };
  running.push(stop);
  const stored = (): readonly KubeObject[] => server.storage.list(server.kind('events'));
  const shown = (): readonly string[] =>
    stored().map((event) => `${String(event['count'])}× ${String(event['message'])}`);
  return { ...environment, logger, writer, stop, stored, shown };
}

const object = widget('a', '7');

describe('EventWriter', () => {
  afterEach(() => Promise.all(running.splice(0).map((stop) => stop())));

  it('writes an Event with the fields that kubectl describe shows', async () => {
    const { writer, clock, stored } = startWriter();
    writer.record(object, 'Warning', 'CreateFailed', 'the service said no');
    await clock.settle();
    const [event] = stored();
    expect(event?.metadata.name).to.match(/^a\.[0-9a-f]{16}$/);
    expect(event?.metadata.namespace).to.equal('default');
    expect(event).to.deep.include({
      kind: 'Event',
      involvedObject: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        name: 'a',
        namespace: 'default',
        uid: 'uid-a',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'CreateFailed',
      message: 'the service said no',
      count: 1,
      firstTimestamp: '2026-11-21T03:25:00Z',
      lastTimestamp: '2026-11-21T03:25:00Z',
      source: { component: 'example', host: 'pod-1' },
      reportingComponent: 'example',
      reportingInstance: 'pod-1',
    });
  });

  it('creates an Event again that has expired', async () => {
    const { writer, clock, server, stored, shown } = startWriter();
    writer.record(object, 'Normal', 'Tested', 'same');
    await clock.settle();
    const name = stored()[0]?.metadata.name ?? '';
    server.storage.delete(server.kind('events'), { namespace: 'default', name });
    writer.record(object, 'Normal', 'Tested', 'same');
    await clock.settle();
    expect(shown()).to.deep.equal(['2× same']);
    writer.record(object, 'Normal', 'Tested', 'same');
    await clock.settle();
    expect(shown()).to.deep.equal(['3× same']);
  });

  it('puts Events about cluster-scoped objects into the namespace default', async () => {
    const { writer, clock, stored } = startWriter();
    const { namespace: _, ...metadata } = object.metadata;
    writer.record({ ...object, metadata }, 'Normal', 'Tested', 'x');
    await clock.settle();
    expect(stored()[0]?.metadata.namespace).to.equal('default');
  });

  it('writes a message on one line, with control characters as escape sequences', async () => {
    const { writer, clock, stored } = startWriter();
    writer.record(object, 'Warning', 'Tested', 'refused: \u009b31m\u202e\n  Normal  Forged');
    await clock.settle();
    expect(stored()[0]?.['message']).to.equal('refused: \\u009b31m\\u202e Normal  Forged');
  });

  it('truncates names and messages to the limits of the API server, also within a character', async () => {
    const { writer, clock, stored } = startWriter();
    writer.record(widget('n'.repeat(253), '1'), 'Normal', 'Tested', 'x'.repeat(1020) + 'öööö');
    await clock.settle();
    const [event] = stored();
    expect(event?.metadata.name).to.have.length(253);
    expect(event?.['message']).to.equal(`${'x'.repeat(1020)}…`);
  });

  for (const name of [`${'n'.repeat(235)}-web`, `${'n'.repeat(235)}.web`, `${'n'.repeat(230)}------web`])
    it(`gives an Event about ${name.slice(228)} a name that the API server accepts`, async () => {
      const { writer, clock, stored } = startWriter();
      writer.record(widget(name, '1'), 'Normal', 'Tested', 'x');
      await clock.settle();
      const labels = stored()[0]?.metadata.name.split('.') ?? [];
      expect(labels).to.satisfy((all: string[]) => all.every((label) => /^[a-z0-9](.*[a-z0-9])?$/.test(label)));
    });

  it('retries in order while the server does not answer, and record never waits', async () => {
    const { writer, clock, server, shown, logger } = startWriter();
    let attempts = 0;
    server.intercept = () => {
      attempts += 1;
      return attempts <= 3 ? new Error('connect ECONNREFUSED') : undefined;
    };
    writer.record(object, 'Normal', 'Tested', 'first');
    writer.record(object, 'Normal', 'Tested', 'second');
    await clock.advance(29_000);
    expect(shown()).to.have.members(['1× first', '1× second']);
    expect(logger.lines).to.deep.equal([]);
  });

  it('writes an event once when only the response of the API server was lost', async () => {
    const { writer, clock, server, shown, logger } = startWriter();
    server.intercept = async (request) => {
      server.intercept = () => undefined;
      await server.send(request);
      return new Error('read ECONNRESET');
    };
    writer.record(object, 'Normal', 'Tested', 'same');
    await clock.advance(10_000);
    expect(shown()).to.deep.equal(['1× same']);
    writer.record(object, 'Normal', 'Tested', 'same');
    await clock.settle();
    expect(shown()).to.deep.equal(['2× same']);
    expect(logger.lines).to.deep.equal([]);
  });

  it('drops an event after twelve attempts, and logs it', async () => {
    const { writer, clock, server, shown, logger } = startWriter();
    let attempts = 0;
    server.intercept = () => {
      attempts += 1;
      return attempts <= 12 ? new Error('connect ECONNREFUSED') : undefined;
    };
    writer.record(object, 'Normal', 'Tested', 'lost');
    writer.record(object, 'Normal', 'Tested', 'kept');
    await clock.advance(120_000);
    expect(shown()).to.deep.equal(['1× kept']);
    expect(logger.linesWith('Writing an event failed').map(({ keys }) => keys['message'])).to.deep.equal(['lost']);
  });

  it('does not retry a refused event, and logs a terminating namespace only at debug level', async () => {
    const { writer, clock, server, logger } = startWriter();
    const refuse = (causes: readonly object[]): void => {
      server.intercept = () =>
        json(403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no', details: { causes } });
    };
    refuse([]);
    writer.record(object, 'Normal', 'Tested', 'forbidden');
    await clock.advance(60_000);
    refuse([{ reason: 'NamespaceTerminating' }]);
    writer.record(object, 'Normal', 'Tested', 'too late');
    await clock.advance(60_000);
    expect(server.requests).to.have.length(2);
    expect(logger.lines.map(({ level, keys }) => [level, keys['message']])).to.deep.equal([
      ['error', 'forbidden'],
      ['debug', 'too late'],
    ]);
  });

  it('writes the queued events before it ends', async () => {
    const { writer, clock, server, stop, shown } = startWriter();
    server.latency = 1_000;
    for (const message of ['a', 'b', 'c']) writer.record(object, 'Normal', 'Tested', message);
    await clock.settle();
    const stopped = stop();
    await clock.advance(3_000);
    await stopped;
    expect(shown()).to.have.members(['1× a', '1× b', '1× c']);
  });

  it('ends within five seconds of the stop, whatever is queued, and takes no more', async () => {
    const { writer, clock, server, stop, shown, logger } = startWriter();
    server.latency = 3_000;
    for (let i = 0; i < 6; i++) writer.record(object, 'Normal', 'Tested', `event ${i}`);
    await clock.settle();
    const stopped = stop();
    await clock.advance(5_000);
    await stopped;
    expect(shown()).to.deep.equal(['1× event 0']);
    expect(logger.linesWith('Events were dropped at the stop').map(({ keys }) => keys['count'])).to.deep.equal([4]);
    writer.record(object, 'Normal', 'Tested', 'late');
    expect(logger.linesWith('An event was dropped')).to.have.length(1);
  });

  it('does not wait out a pause when it is stopped', async () => {
    const { writer, clock, server, stop, logger } = startWriter();
    server.intercept = () => new Error('connect ECONNREFUSED');
    writer.record(object, 'Normal', 'Tested', 'x');
    await clock.settle();
    await stop();
    expect(server.requests).to.have.length(2);
    expect(logger.linesWith('Writing an event failed')).to.have.length(1);
  });

  it('drops new ones beyond a thousand that wait', () => {
    const { writer, logger } = startWriter();
    for (let i = 0; i < 1_003; i++) writer.record(object, 'Normal', 'Tested', `event ${i}`);
    expect(logger.linesWith('An event was dropped').map(({ keys }) => keys['message'])).to.deep.equal([
      'event 1000',
      'event 1001',
      'event 1002',
    ]);
  });
});
