import { expect } from 'chai';
import { keyFor, newWorld, widgetKind } from './testing/fixtures.ts';
import { start, startSynced } from './testing/running-reflector.ts';

describe('Reflector, of a kind that comes, goes or changes its version', () => {
  it('says that a kind is not served, and finds it within half a minute of its installation', async () => {
    const world = newWorld();
    world.server.unserve('widgets');
    const running = start(world);
    await running.clock.advance(5_000);
    expect(running.store.lookup(keyFor('a'))).to.deep.equal({
      kind: 'unknown',
      why: 'the API server does not serve widgets.example.org',
    });
    expect(running.logger.said('The API server does not serve a kind, waiting for it')).to.have.length(1);

    world.server.serve(widgetKind);
    world.make('a');
    await running.clock.advance(30_000);
    expect(running.store.lookup(keyFor('a')).kind).to.equal('found');
    await running.stop();
  });

  it('finds a kind within seconds that is installed seconds after the start', async () => {
    const world = newWorld();
    world.server.unserve('widgets');
    const running = start(world);
    await running.clock.advance(2_500);
    world.server.serve(widgetKind);
    await running.clock.advance(3_200);
    expect(running.store.synced).to.equal(true);
    await running.stop();
  });

  it('asks ever less often for a kind that is not served, up to every 15 to 30 s', async () => {
    const world = newWorld();
    world.server.unserve('widgets');
    const running = start(world);
    await running.clock.advance(60_000);
    const atFirst = world.server.requests.length;
    await running.clock.advance(600_000);
    expect(world.server.requests.length - atFirst).to.be.within(20, 40);
    await running.stop();
  });

  it('makes no deletions of a kind that vanishes, and takes up the difference when it is back', async () => {
    const running = await startSynced(newWorld());
    running.make('a');
    running.make('b');
    await running.clock.settle();
    running.changes.length = 0;

    running.server.unserve('widgets');
    await running.clock.advance(60_000);
    expect(running.changes).to.deep.equal([]);
    expect(running.store.lookup(keyFor('a')).kind).to.equal('unknown');
    expect(running.store.list().kind).to.equal('unknown');

    running.server.serve(widgetKind);
    running.server.storage.delete(running.server.kind('widgets'), keyFor('b'));
    await running.clock.advance(60_000);
    expect(running.changes).to.deep.equal(['-b']);
    expect(running.store.lookup(keyFor('a')).kind).to.equal('found');
    await running.stop();
  });

  it('changes over to another version of the kind within seconds, without telling a deletion', async () => {
    const running = await startSynced(newWorld());
    running.make('a');
    await running.clock.settle();
    running.changes.length = 0;
    running.server.unserve('widgets');
    running.server.serve({ ...widgetKind, versions: ['v2'] });
    await running.clock.advance(2_000);
    expect(running.store.synced).to.equal(true);
    expect(running.changes).to.deep.equal([]);
    expect(running.server.requests.at(-1)?.path).to.match(/^\/apis\/example.org\/v2\/widgets\?watch=true/);
    await running.stop();
  });
});
