import { describeApiServer } from './conformance.ts';
import { newFakeApiEnvironment, widgets } from './fixtures.ts';

describe('FakeApiServer', () => {
  const { client } = newFakeApiEnvironment();
  describeApiServer(() => ({ client, widgets }));
});
