import { expect } from 'chai';
import { stringify } from 'yaml';
import { VirtualClock } from './virtual-clock.ts';
import { SeededRandom } from './seeded-random.ts';
import { createKubeClient } from '../client/client.ts';
import { KubeError } from '../client/errors.ts';
import type { KubeClient, KubeObject, Resource } from '../client/types.ts';
import { FakeApiServer, type FakeKind } from './fake-api-server.ts';

export const widgetKind: FakeKind = {
  group: 'example.org',
  plural: 'widgets',
  kind: 'Widget',
  versions: ['v1'],
};

export const widgets: Resource = { group: 'example.org', version: 'v1', plural: 'widgets' };

export const keyFor = (name: string): { readonly namespace: string; readonly name: string } => ({
  namespace: 'default',
  name,
});

export interface FakeApiEnvironment {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly server: FakeApiServer;
  readonly client: KubeClient;
  /** Never aborted. */
  readonly signal: AbortSignal;
  /** Creates a Widget as another client would. */
  readonly make: (name: string, fields?: Readonly<Record<string, unknown>>) => KubeObject;
}

export function newFakeApiEnvironment(seed = 1): FakeApiEnvironment {
  const clock = new VirtualClock();
  const random = new SeededRandom(seed);
  const server = new FakeApiServer({ clock, random, kinds: [widgetKind] });
  const make: FakeApiEnvironment['make'] = (name, fields = {}) => {
    const { metadata, ...rest } = { metadata: {}, ...fields };
    return server.storage.create(server.kind('widgets'), 'default', { ...rest, metadata: { ...metadata, name } });
  };
  const client = createKubeClient({ transport: server, clock });
  return { clock, random, server, client, signal: new AbortController().signal, make };
}

/** Returns a Widget as an API server would. */
export function widget(
  name: string,
  resourceVersion: string,
  more: Readonly<Record<string, unknown>> = {},
): KubeObject {
  return {
    apiVersion: 'example.org/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion },
    ...more,
  };
}

/** The remedy of the tests for a missing permission. */
export const GRANT = 'Apply the roles of the example again';

/** Returns the KubeError with which the promise rejects. */
export async function failureOf(promise: Promise<unknown>): Promise<KubeError> {
  const failure = await promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
  return failure instanceof KubeError ? failure : expect.fail(`expected a KubeError, got ${String(failure)}`);
}

/** Returns a kubeconfig with one cluster and one user. */
export const kubeconfigOf = (cluster: object, user: object): string =>
  stringify({
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
  });
