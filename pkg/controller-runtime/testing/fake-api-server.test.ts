import { expect } from 'chai';
import { describeApiServer } from './conformance.ts';
import { failureOf, newFakeApiEnvironment, widgets } from './fixtures.ts';

describe('FakeApiServer', () => {
  const { client } = newFakeApiEnvironment();
  describeApiServer(() => ({ client, widgets }));

  it('refuses a selector that it does not support', async () => {
    const { signal } = new AbortController();
    for (const selection of [
      ...['!a', 'a==b', 'a in (b,c)'].map((labelSelector) => ({ labelSelector })),
      ...['metadata.namespace=default', '!metadata.name'].map((fieldSelector) => ({ fieldSelector })),
    ]) {
      const failure = await failureOf(client.list(widgets, { ...selection, signal }));
      expect(failure.message).to.match(/: the fake API server does not support the selector \S+/);
    }
  });
});
