import { expect } from 'chai';
import { errorMessage } from '../text/error-text.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createKubeClient } from './client.ts';
import { isExpired, isForbidden, isNoAnswer, isUndecodable } from './errors.ts';
import { ByteStream } from '../testing/byte-stream.ts';
import { json, text } from '../testing/fake-api-server.ts';
import { newStatus } from '../testing/fake-watch.ts';
import { failureOf, keyFor, widget, widgets } from '../testing/fixtures.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';
import type { WatchEvent } from './types.ts';

type Respond = (request: TransportRequest) => TransportResponse | Promise<TransportResponse>;

function clientOf(respond: Respond) {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const requests: TransportRequest[] = [];
  const client = createKubeClient({
    clock,
    transport: {
      host: 'kubernetes.test',
      async send(request) {
        requests.push(request);
        return respond(request);
      },
    },
  });
  return { client, clock, requests, controller, signal: controller.signal };
}

const status = (code: number, reason: string, message: string, details = {}) => ({
  ...newStatus(code, reason, message),
  details,
});

const never = (): Promise<never> => new Promise(() => {});

describe('KubeClient', () => {
  it('sends the paths and bodies of the Kubernetes API', async () => {
    const { client, requests, signal } = clientOf(() => json(200, widget('a/b', '7')));
    const key = { namespace: 'team a', name: 'a/b' };
    await client.get(widgets, key, { signal });
    await client.mergePatch(widgets, key, { status: { ready: true } }, { subresource: 'status', signal });
    await client.delete(widgets, key, { uid: 'u', signal });
    await client.create({ group: '', version: 'v1', plural: 'namespaces' }, '', { metadata: {} }, { signal });
    expect(requests.map(({ method, path, body }) => [method, path, body])).to.deep.equal([
      ['GET', '/apis/example.org/v1/namespaces/team%20a/widgets/a%2Fb', undefined],
      ['PATCH', '/apis/example.org/v1/namespaces/team%20a/widgets/a%2Fb/status', '{"status":{"ready":true}}'],
      [
        'DELETE',
        '/apis/example.org/v1/namespaces/team%20a/widgets/a%2Fb',
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}}',
      ],
      ['POST', '/api/v1/namespaces', '{"metadata":{}}'],
    ]);
    expect(requests.map(({ headers }) => headers['content-type'])).to.deep.equal([
      undefined,
      'application/merge-patch+json',
      'application/json',
      'application/json',
    ]);
  });

  it('sends JSON Patches, server-side applies and dry runs', async () => {
    const { client, requests, signal } = clientOf(() => json(200, widget('a', '7')));
    const operation = { op: 'remove', path: '/spec/size' } as const;
    await client.jsonPatch(widgets, keyFor('a'), [operation], { signal });
    await client.apply(widgets, keyFor('a'), { spec: {} }, { fieldManager: 'us', signal });
    await client.mergePatch(widgets, keyFor('a'), {}, { dryRun: true, signal });
    await client.create(widgets, 'default', {}, { dryRun: true, signal });
    const path = '/apis/example.org/v1/namespaces/default/widgets';
    expect(
      requests.map((request) => [request.method, request.path, request.headers['content-type'], request.body]),
    ).to.deep.equal([
      ['PATCH', `${path}/a`, 'application/json-patch+json', '[{"op":"remove","path":"/spec/size"}]'],
      ['PATCH', `${path}/a?fieldManager=us&force=true`, 'application/apply-patch+yaml', '{"spec":{}}'],
      ['PATCH', `${path}/a?dryRun=All`, 'application/merge-patch+json', '{}'],
      ['POST', `${path}?dryRun=All`, 'application/json', '{}'],
    ]);
  });

  it('accepts the object of a dry run, which a real API server answers without a resourceVersion', async () => {
    const { client, signal } = clientOf(() => json(201, { metadata: { name: 'a', uid: 'u' } }));
    const created = await client.create(widgets, 'default', {}, { dryRun: true, isStrict: true, signal });
    expect(created.metadata).to.deep.equal({ name: 'a', uid: 'u', resourceVersion: '0' });
  });

  describe('an error response', () => {
    it('becomes a KubeError with the reason, message, causes and Retry-After of the server', async () => {
      const { client, signal } = clientOf(() =>
        json(
          403,
          status(403, 'Forbidden', 'no', { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] }),
          { 'retry-after': '3' },
        ),
      );
      const failure = await failureOf(client.get(widgets, keyFor('a'), { signal }));
      expect(failure).to.satisfy(isForbidden);
      expect(failure).to.deep.include({ status: 403, retryAfter: 3_000, causes: ['NamespaceTerminating'] });
      expect(failure.message).to.equal('getting widgets.example.org default/a: no');
    });

    const plain: readonly [number, string, string][] = [
      [410, 'Gone', 'too old'],
      [500, 'Unknown', '<html>bad</html>'],
      [503, 'Unknown', ''],
      [404, 'NotServed', '404 page not found'],
    ];
    for (const [code, reason, said] of plain)
      it(`with code ${code} and without a Status has the reason ${reason}`, async () => {
        const { client, signal } = clientOf(() => text(code, said, { 'retry-after': 'Sat, 21 Nov 2026 03:25:00 GMT' }));
        const failure = await failureOf(client.get(widgets, keyFor('a'), { signal }));
        expect(failure).to.include({ status: code, reason, retryAfter: undefined });
        expect(failure.message).to.equal(
          `getting widgets.example.org default/a: ${said === '' ? `status ${code}` : said}`,
        );
      });

    it('without a reason gets the reason of its code', async () => {
      const { client, signal } = clientOf(() => json(409, status(409, '', 'already there')));
      expect(await failureOf(client.create(widgets, 'default', {}, { signal }))).to.include({ reason: 'Conflict' });
    });
  });

  describe('a response with Retry-After', () => {
    const busy = (seconds: number) =>
      json(429, status(429, 'TooManyRequests', 'busy'), { 'retry-after': `${seconds}` });

    it('makes the client send the same request again after the delay', async () => {
      const { client, clock, requests, signal } = clientOf(() =>
        requests.length <= 2 ? busy(3) : json(200, widget('a', '8')),
      );
      const patched = client.mergePatch(widgets, keyFor('a'), { spec: { size: 1 } }, { signal });
      await clock.advance(2_999);
      expect(requests).to.have.length(1);
      await clock.advance(3_001);
      expect((await patched).metadata.resourceVersion).to.equal('8');
      expect(requests.map(({ method, body }) => [method, body])).to.deep.equal(
        Array.from({ length: 3 }, () => ['PATCH', '{"spec":{"size":1}}']),
      );
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('makes the client retry also for 503', async () => {
      const { client, clock, requests, signal } = clientOf(() =>
        requests.length === 1 ? text(503, 'starting', { 'retry-after': '1' }) : json(200, widget('a', '8')),
      );
      const got = client.get(widgets, keyFor('a'), { signal });
      await clock.advance(1_000);
      expect((await got)?.metadata.name).to.equal('a');
    });

    it('is the result after ten retries', async () => {
      const { client, clock, requests, signal } = clientOf(() => busy(1));
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      await clock.advance(20_000);
      expect(await failed).to.include({ status: 429, retryAfter: 1_000 });
      expect(requests).to.have.length(11);
    });

    it('is the result at once when the delay exceeds the deadline of the request', async () => {
      const { client, clock, requests, signal } = clientOf(() => busy(16));
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      await clock.advance(16_000);
      expect(await failed).to.include({ status: 429 });
      expect(requests).to.have.length(2);
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('is the result when the caller aborts during the delay', async () => {
      const { client, clock, controller, requests, signal } = clientOf(() => busy(5));
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      await clock.advance(1_000);
      controller.abort(new Error('the manager stops'));
      expect(await failed).to.include({ status: 429 });
      expect(requests).to.have.length(1);
      expect(clock.pendingTimers()).to.deep.equal([]);
    });
  });

  describe('NoAnswer', () => {
    it('is the error after 30 s, or 60 s for a list, and the request is aborted', async () => {
      const { client, clock, requests, signal } = clientOf(never);
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      await clock.advance(29_999);
      expect(requests[0]?.signal.aborted).to.equal(false);
      await clock.advance(1);
      expect(requests[0]?.signal.aborted).to.equal(true);
      const failure = await failed;
      expect(failure).to.satisfy(isNoAnswer).and.to.include({ status: 0 });
      expect(errorMessage(failure)).to.equal(
        'getting widgets.example.org default/a: no answer: the API server: no result within 30 s',
      );

      const list = failureOf(client.list(widgets, { signal }));
      await clock.advance(59_999);
      expect(requests[1]?.signal.aborted).to.equal(false);
      await clock.advance(1);
      expect(errorMessage(await list)).to.contain('no result within 60 s');
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('is the error for a body that does not end', async () => {
      const { client, clock, signal } = clientOf(({ signal: sent }) => {
        const body = new ByteStream(sent, () => {});
        body.write('{"metadata":');
        return { status: 200, headers: {}, body };
      });
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      await clock.advance(30_000);
      expect(await failed).to.satisfy(isNoAnswer);
    });

    it('has the network error as its cause', async () => {
      const { client, signal } = clientOf(() => Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:6443')));
      const failure = await failureOf(client.get(widgets, keyFor('a'), { signal }));
      expect(errorMessage(failure)).to.equal(
        'getting widgets.example.org default/a: no answer: connect ECONNREFUSED 127.0.0.1:6443',
      );
    });

    it('is the error also after an abort of the caller', async () => {
      const { client, clock, controller, signal } = clientOf(never);
      const failed = failureOf(client.get(widgets, keyFor('a'), { signal }));
      controller.abort(new Error('the manager stops'));
      const failure = await failed;
      expect(failure).to.satisfy(isNoAnswer);
      expect(errorMessage(failure)).to.contain('the manager stops');
      expect(clock.pendingTimers()).to.deep.equal([]);
    });
  });

  for (const [what, body] of [
    ['no JSON', '<html>'],
    ['no object', '[1]'],
    ['an object without a name', '{"metadata":{"resourceVersion":"1"}}'],
    ['an object without a version', '{"metadata":{"name":"a"}}'],
  ] as const)
    it(`throws Undecodable for ${what}`, async () => {
      const { client, signal } = clientOf(() => text(200, body));
      const failure = await failureOf(client.get(widgets, keyFor('a'), { signal }));
      expect(failure).to.satisfy(isUndecodable);
      expect(failure.message).to.match(
        /^getting widgets.example.org default\/a: the API server's answer cannot be read: /,
      );
    });

  it('throws Undecodable for a list whose items are not a list', async () => {
    const { client, signal } = clientOf(() => json(200, { metadata: {}, items: {} }));
    expect(await failureOf(client.list(widgets, { signal }))).to.satisfy(isUndecodable);
  });

  it('decodes a list without items as empty', async () => {
    const { client, signal } = clientOf(() => json(200, { metadata: { resourceVersion: '5' }, items: null }));
    expect(await client.list(widgets, { signal })).to.deep.equal({ resourceVersion: '5', items: [] });
  });

  describe('watch', () => {
    const options = { resourceVersion: '1', timeoutSeconds: 290 };

    async function collect(bytes: Uint8Array, size: number): Promise<readonly WatchEvent[]> {
      const { client, signal } = clientOf(() => ({
        status: 200,
        headers: {},
        body: (async function* () {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        })(),
      }));
      const events: WatchEvent[] = [];
      for await (const event of client.watch(widgets, { ...options, signal })) events.push(event);
      return events;
    }

    const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

    it('reads events across chunks, also when a chunk ends within a character', async () => {
      const objects = [widget('a', '2', { spec: 'größer 😀 \n' }), widget('b', '3', { spec: '漢字' })];
      const stream = Buffer.from(objects.map((object) => line('ADDED', object)).join('\n'));
      const expected = objects.map((object) => ({ type: 'ADDED', object }));
      for (const size of [1, 2, 3, 5, 7, 64, stream.length])
        expect(await collect(stream, size)).to.deep.equal(expected);
    });

    it('decodes the version of a bookmark and the reason of an error event', async () => {
      const stream =
        line('BOOKMARK', { kind: 'Widget', metadata: { resourceVersion: '9', creationTimestamp: null } }) +
        line('ERROR', status(410, 'Expired', 'too old resource version: 1 (9)'));
      expect(await collect(Buffer.from(stream), 1_000)).to.deep.equal([
        { type: 'BOOKMARK', resourceVersion: '9' },
        { type: 'ERROR', status: { code: 410, reason: 'Expired', message: 'too old resource version: 1 (9)' } },
      ]);
    });

    it('yields the complete events, then throws, when the stream ends within an event', async () => {
      const stream = Buffer.from(line('ADDED', widget('a', '2')) + '{"type":"ADD');
      const { client, signal } = clientOf(() => text(200, stream.toString()));
      const seen: string[] = [];
      const read = async () => {
        for await (const event of client.watch(widgets, { ...options, signal })) seen.push(event.type);
      };
      const failure = await failureOf(read());
      expect(seen).to.deep.equal(['ADDED']);
      expect(errorMessage(failure)).to.equal(
        'watching widgets.example.org: interrupted: the connection ended within an event',
      );
    });

    for (const unreadable of ['{"type":"ADDED","object":{}}\n', '{"type":"RENAMED","object":{}}\n', 'null\n', '{\n'])
      it(`throws Undecodable for the line ${JSON.stringify(unreadable)}`, async () => {
        const { client, signal } = clientOf(() => text(200, unreadable));
        const watch = client.watch(widgets, { ...options, signal })[Symbol.asyncIterator]();
        expect(await failureOf(watch.next())).to.satisfy(isUndecodable);
      });

    it('waits 30 s for the headers, and without a limit for events', async () => {
      const { client, clock, requests, signal } = clientOf(({ signal: sent }) =>
        requests.length === 1 ? never() : { status: 200, headers: {}, body: new ByteStream(sent, () => {}) },
      );
      const unanswered = client.watch(widgets, { ...options, signal })[Symbol.asyncIterator]();
      const silent = failureOf(unanswered.next());
      await clock.advance(30_000);
      // The client aborts the request, and does not wait for a transport that ignores the signal.
      expect(requests[0]?.signal.aborted).to.equal(true);
      expect(await silent).to.satisfy(isNoAnswer);

      let isSettled = false;
      const stop = new AbortController();
      const open = client.watch(widgets, { ...options, signal: stop.signal })[Symbol.asyncIterator]();
      const next = open.next().finally(() => (isSettled = true));
      await clock.advance(86_400_000);
      expect(isSettled).to.equal(false);
      stop.abort();
      expect(await next).to.deep.equal({ done: true, value: undefined });
    });

    it('closes its connection when the reader stops', async () => {
      const { client, requests, signal } = clientOf(({ signal: sent }) => {
        const body = new ByteStream(sent, () => {});
        body.write(line('ADDED', widget('a', '2')));
        return { status: 200, headers: {}, body };
      });
      for await (const event of client.watch(widgets, { ...options, signal })) {
        expect(event.type).to.equal('ADDED');
        break;
      }
      expect(requests[0]?.signal.aborted).to.equal(true);
    });

    it('throws the error of the server', async () => {
      const { client, signal } = clientOf(() => json(410, status(410, 'Gone', 'too old')));
      const watch = client.watch(widgets, { ...options, signal })[Symbol.asyncIterator]();
      expect(await failureOf(watch.next())).to.satisfy(isExpired);
    });
  });
});
