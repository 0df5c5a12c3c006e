import { expect } from 'chai';
import { isConflict, isNoAnswer, isNotFound } from './errors.ts';
import { json } from './testing/fake-api-server.ts';
import { newWorld } from './testing/fixtures.ts';
import { boundTo, typedApis } from './typed.ts';

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it was fulfilled',
    (error: unknown) => error,
  );

describe('typedApis', () => {
  const lease = { namespace: 'default', name: 'capaf' };

  it('read and write built-in kinds on our transport', async () => {
    const { server, clock, signal } = newWorld();
    const { coordination } = typedApis(server, clock);
    const created = await coordination.createNamespacedLease(
      { namespace: 'default', body: { metadata: { name: 'capaf' }, spec: { holderIdentity: 'a' } } },
      boundTo(signal),
    );
    expect(created.metadata?.uid).to.match(/^[0-9a-f-]{36}$/);
    created.spec = { holderIdentity: 'b' };
    await coordination.replaceNamespacedLease({ ...lease, body: created });
    expect((await coordination.readNamespacedLease(lease)).spec?.holderIdentity).to.equal('b');
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'POST /apis/coordination.k8s.io/v1/namespaces/default/leases',
      'PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/capaf',
      'GET /apis/coordination.k8s.io/v1/namespaces/default/leases/capaf',
    ]);
    expect(await failureOf(coordination.replaceNamespacedLease({ ...lease, body: created }))).to.satisfy(isConflict);
  });

  it('decode reviews', async () => {
    const { server, clock } = newWorld();
    server.intercept = ({ body = '' }) =>
      json(201, { ...(JSON.parse(body) as object), status: { authenticated: true } });
    const { authentication } = typedApis(server, clock);
    const review = await authentication.createTokenReview({ body: { spec: { token: 't' } } });
    expect(review.status?.authenticated).to.equal(true);
  });

  it('throw what the raw client throws', async () => {
    const { server, clock } = newWorld();
    const { core } = typedApis(server, clock);
    const failure = await failureOf(core.readNamespacedSecret({ namespace: 'default', name: 'x' }));
    expect(failure).to.satisfy(isNotFound);
    expect(failure).to.have.property('message', 'GET /api/v1/namespaces/default/secrets/x: secrets "x" not found');
    server.intercept = () => new Error('connect ECONNREFUSED');
    expect(await failureOf(core.readNamespacedSecret({ namespace: 'default', name: 'x' }))).to.satisfy(isNoAnswer);
  });

  it('end after 30 s, or with the signal they are bound to', async () => {
    const { server, clock } = newWorld();
    server.intercept = () => new Promise(() => {});
    const { core } = typedApis(server, clock);
    const slow = failureOf(core.readNamespacedSecret({ namespace: 'default', name: 'x' }));
    await clock.advance(30_000);
    expect(await slow).to.satisfy(isNoAnswer);
    const controller = new AbortController();
    const bound = failureOf(core.readNamespacedSecret({ namespace: 'default', name: 'x' }, boundTo(controller.signal)));
    await clock.settle();
    controller.abort();
    expect(await bound).to.satisfy(isNoAnswer);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });
});
