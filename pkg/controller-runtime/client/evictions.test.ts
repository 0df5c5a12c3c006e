import { expect } from 'chai';
import { newStatus } from '../testing/fake-watch.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { KubeError } from './errors.ts';
import { newEvictions } from './evictions.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

const POD = { namespace: 'shop', name: 'web-1', uid: 'u1' };
const SIGNAL = new AbortController().signal;

const json = (status: number, value: unknown, headers = {}): TransportResponse => ({
  status,
  headers,
  body: [new TextEncoder().encode(JSON.stringify(value))],
});
const statusOf = (code: number, reason: string, causes: readonly object[] = []): object => ({
  ...newStatus(code, reason, `said ${code}`),
  details: { causes },
});

describe('evictions', () => {
  let sent: TransportRequest[];
  const withAnswers = (...answers: readonly TransportResponse[]) => {
    sent = [];
    const send = async (request: TransportRequest): Promise<TransportResponse> => {
      sent.push(request);
      const answer = answers[Math.min(sent.length, answers.length) - 1];
      if (answer === undefined) throw new Error('no route to host');
      return answer;
    };
    return newEvictions({ host: 'workload', send }, new VirtualClock());
  };
  const evict = (...answers: readonly TransportResponse[]): Promise<unknown> =>
    withAnswers(...answers)
      .evict(POD, SIGNAL)
      .catch((error: unknown) => (error instanceof KubeError ? `${error.status} ${error.reason}` : error));
  const BUDGET = {
    reason: 'DisruptionBudget',
    message: 'The disruption budget web needs 2 healthy pods and has 2 currently',
  };

  for (const [situation, answer, expected] of [
    ['an eviction that is accepted', json(201, { kind: 'Status', status: 'Success' }), { kind: 'accepted' }],
    ['a pod that is gone', json(404, statusOf(404, 'NotFound')), { kind: 'gone' }],
    ['another pod of this name', json(409, statusOf(409, 'Conflict')), { kind: 'gone' }],
    [
      'a disruption budget, and does not retry immediately',
      json(429, statusOf(429, 'TooManyRequests', [BUDGET]), { 'retry-after': '1' }),
      { kind: 'refused', said: `said 429 ${BUDGET.message}` },
    ],
    ['an error of the API server', json(500, statusOf(500, 'InternalError')), { kind: 'refused', said: 'said 500' }],
    [
      'a missing permission, or a webhook that refuses',
      json(403, statusOf(403, 'Forbidden')),
      { kind: 'refused', said: 'said 403' },
    ],
    ['an unknown caller', json(401, statusOf(401, 'Unauthorized')), '401 Unauthorized'],
  ] as const)
    it(`recognizes ${situation}`, async () => {
      expect(await evict(answer)).to.deep.equal(expected);
      expect(sent).to.have.length(1);
    });

  it('recognizes a missing response', async () => expect(await evict()).to.equal('0 NoAnswer'));

  it('names the pod by its unique id', async () => {
    await evict(json(201, {}));
    expect(sent[0]).to.deep.include({ method: 'POST', path: '/api/v1/namespaces/shop/pods/web-1/eviction' });
    expect(JSON.parse(sent[0]?.body ?? '')).to.deep.equal({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { namespace: 'shop', name: 'web-1' },
      deleteOptions: { preconditions: { uid: 'u1' } },
    });
  });

  it('lists the metadata of pods that have not ended, in pages', async () => {
    const item = (name: string): object => ({ metadata: { name, uid: name, resourceVersion: '1' } });
    const page = (name: string, next?: string): TransportResponse =>
      json(200, { metadata: { resourceVersion: '1', continue: next }, items: [item(name)] });
    const names: string[] = [];
    for await (const found of withAnswers(page('a', 'more'), page('b')).list('l=x', SIGNAL))
      names.push(...found.map(({ name }) => name));
    expect(names).to.deep.equal(['a', 'b']);
    const query = 'labelSelector=l%3Dx&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=100';
    expect(sent.map(({ path }) => path)).to.deep.equal([
      `/api/v1/pods?${query}`,
      `/api/v1/pods?${query}&continue=more`,
    ]);
    expect(sent[0]?.headers['accept']).to.contain('as=PartialObjectMetadataList');
  });

  const listed = async (answer: TransportResponse): Promise<unknown> => {
    try {
      for await (const _page of withAnswers(answer).list('l=x', SIGNAL));
      return 'the end';
    } catch (error) {
      return error;
    }
  };

  it('stops reading a response that is larger than 4 MiB', async () => {
    let read = 0;
    const body = (function* () {
      for (; read < 100; read++) yield new Uint8Array(1_024 * 1_024).fill(32);
    })();
    expect(await listed({ status: 200, headers: {}, body })).to.have.property('reason', 'NoAnswer');
    expect(read).to.be.below(6);
  });

  it('stops listing pods after a hundred pages of a list that never ends', async () => {
    const page = json(200, { metadata: { resourceVersion: '1', continue: 'more' }, items: [] });
    expect(await listed(page)).to.have.property('message', 'listing pods: there are more than 10000 pods');
    expect(sent).to.have.length(100);
  });
});
