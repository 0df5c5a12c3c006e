import { expect } from 'chai';
import fc from 'fast-check';
import { propertyRuns } from '../testing/property-runs.ts';
import { keyFor, newFakeApiEnvironment, widgetKind, type FakeApiEnvironment } from '../testing/fixtures.ts';
import { startReflector, stopReflectors } from '../testing/running-reflector.ts';

const NAMES = ['a', 'b', 'c', 'd'];

/** A step of a test: another client's write, a wait, or a failure or recovery of the network or the API server. */
type Action =
  | { readonly kind: 'create' | 'patch' | 'delete'; readonly name: string }
  | { readonly kind: 'wait'; readonly span: number }
  | { readonly kind: 'end' | 'cut' | 'compact' | 'unserve' | 'serve' | 'down' | 'up' | 'lag' };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('create', 'patch', 'delete'), name: fc.constantFrom(...NAMES) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait'), span: fc.constantFrom(0, 1, 100, 1_000, 10_000, 100_000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('end', 'cut', 'compact', 'unserve', 'serve', 'down', 'up', 'lag') }),
  },
);

async function perform({ server, clock, make }: FakeApiEnvironment, what: Action): Promise<void> {
  const { storage } = server;
  const exists = (name: string): boolean => storage.get(widgetKind, keyFor(name)) !== undefined;
  switch (what.kind) {
    case 'create':
      if (isServed(server) && !exists(what.name)) make(what.name);
      return;
    case 'patch':
      if (exists(what.name)) storage.mergePatch(widgetKind, keyFor(what.name), { spec: { at: storage.newest } });
      return;
    case 'delete':
      if (exists(what.name)) storage.delete(widgetKind, keyFor(what.name));
      return;
    case 'wait':
      return clock.advance(what.span);
    case 'end':
      return server.endWatches();
    case 'cut':
      return server.endWatches(new Error('read ECONNRESET'));
    case 'compact':
      return server.compact();
    case 'unserve':
      if (isServed(server)) server.unserve('widgets');
      return;
    case 'serve':
      return server.serve(widgetKind);
    case 'down':
      server.intercept = () => new Error('connect ECONNREFUSED');
      return server.endWatches(new Error('read ECONNRESET'));
    case 'up':
      server.intercept = () => undefined;
      return;
    case 'lag':
      server.watchLag = 700 - server.watchLag;
  }
}

function isServed(server: FakeApiEnvironment['server']): boolean {
  try {
    return server.kind('widgets') === widgetKind;
  } catch {
    return false;
  }
}

describe('Reflector under random writes and failures', () => {
  it('ends with the objects of the server, and reports the changes of each object in a possible order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(action, { maxLength: 60, size: 'max' }), async (seed, actions) => {
        const environment = newFakeApiEnvironment(seed);
        const { clock, logger, server, store } = startReflector(environment);
        const reported = new Map<string, string>();
        store.onChange((change) => {
          const { name, resourceVersion } = change.object.metadata;
          expect(reported.has(name), `${change.type} ${name}`).to.equal(change.type !== 'added');
          if (change.type === 'updated') expect(Number(resourceVersion)).to.be.above(Number(reported.get(name)));
          if (change.type === 'deleted') reported.delete(name);
          else reported.set(name, resourceVersion);
        });

        for (const what of actions) await perform(environment, what);
        server.serve(widgetKind);
        server.intercept = () => undefined;
        // 61 s is longer than every delay of the reflector: a backoff takes at most 30 s, a Retry-After at most 60 s.
        await clock.advance(61_000);

        const listing = store.list();
        if (listing.kind === 'unknown') return expect.fail(listing.reason);
        expect(listing.objects).to.deep.equal(server.storage.list(widgetKind));
        expect(Object.fromEntries(reported)).to.deep.equal(
          Object.fromEntries(listing.objects.map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
        );
        const failed = logger.linesWith('A handler of the store failed').map(({ error }) => String(error));
        expect(failed, 'assertions of the handler').to.deep.equal([]);
        await stopReflectors();
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
