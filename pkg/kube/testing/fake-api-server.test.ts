import { describeApiServer } from './conformance.ts';
import { newWorld, widgets } from './fixtures.ts';

describe('FakeApiServer', () => {
  const { client } = newWorld();
  describeApiServer(() => ({ client, widgets }));
});
