import { expect } from 'chai';
import { keyFor, newFakeApiEnvironment, widgetKind } from '../testing/fixtures.ts';
import { startReflector, startSyncedReflector, stopReflectors } from '../testing/running-reflector.ts';

describe('Reflector for a kind that is installed, removed or served in another version', () => {
  afterEach(stopReflectors);

  it('reports that a kind is not served, and lists it within seconds of its installation', async () => {
    const environment = newFakeApiEnvironment();
    environment.server.unserve('widgets');
    const running = startReflector(environment);
    await running.clock.advance(2_500);
    expect(running.store.lookup(keyFor('a'))).to.deep.equal({
      kind: 'unknown',
      reason: 'the API server does not serve widgets.example.org',
      obstacle: { kind: 'notServed', resource: 'widgets.example.org' },
    });
    expect(running.logger.linesWith('The API server does not serve a kind, waiting for it')).to.have.length(1);

    environment.server.serve(widgetKind);
    environment.make('a');
    await running.clock.advance(3_200);
    expect(running.store.lookup(keyFor('a')).kind).to.equal('found');
  });

  it('repeats the discovery of a kind that is not served with growing delays, up to 15 to 30 s', async () => {
    const environment = newFakeApiEnvironment();
    environment.server.unserve('widgets');
    const running = startReflector(environment);
    await running.clock.advance(60_000);
    const atFirst = environment.server.requests.length;
    await running.clock.advance(600_000);
    expect(environment.server.requests.length - atFirst).to.be.within(20, 40);
  });

  it('switches to another version of the kind within seconds, without reporting deletions', async () => {
    const running = await startSyncedReflector(newFakeApiEnvironment());
    running.make('a');
    await running.clock.settle();
    running.changes.length = 0;
    running.server.unserve('widgets');
    running.server.serve({ ...widgetKind, versions: ['v2'] });
    await running.clock.advance(2_000);
    expect(running.store.synced).to.equal(true);
    // The reflector reports an update: the object has its old resourceVersion, but now the apiVersion `v2`.
    expect(running.changes).to.deep.equal(['~a']);
    expect(running.store.lookup(keyFor('a'))).to.have.nested.property('object.apiVersion', 'example.org/v2');
    expect(running.server.requests.at(-1)?.path).to.match(/^\/apis\/example.org\/v2\/widgets\?watch=true/);
  });
});
