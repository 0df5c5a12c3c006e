import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { waitForAccessCaches, type AccessApi } from './access-caches.ts';

/**
 * The kinds of RBAC objects and webhook configurations, which kube-apiserver itself reads while it processes requests.
 * kube-apiserver has a separate cache for each kind.
 */
const KINDS = [
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
];

/** A fake API server. What it stores is not in its caches until the test calls `updateRepeatedly`. */
class SlowApi {
  readonly #stored = new Map<string, string>();
  readonly #cached = new Map<string, string>();

  readonly api: AccessApi = {
    post: <T>(path: string, body: unknown) => {
      if (path.endsWith('/subjectaccessreviews'))
        return Promise.resolve({ status: { allowed: this.#allows(body) } } as T);
      const { metadata } = body as { readonly metadata: { readonly name: string } };
      this.#stored.set(`${path}/${metadata.name}`, JSON.stringify(body));
      return Promise.resolve(body as T);
    },
    delete: <T>(path: string) => {
      if (!this.#stored.delete(path)) throw new Error(`${path} is not stored`);
      return Promise.resolve(undefined as T);
    },
    request: (_method, _path, options) => {
      const message = 'failed calling webhook "probe.example.org"';
      const { metadata } = (options ?? {}).body as { readonly metadata: { readonly labels: object } };
      const isRefused = [...this.#cached.values()].some((each) => each.includes(JSON.stringify(metadata.labels)));
      return Promise.resolve({ status: isRefused ? 500 : 201, body: isRefused ? { message } : {}, warnings: [] });
    },
  };

  /** The kinds of all stored objects. */
  stored(): readonly string[] {
    return KINDS.filter((kind) => [...this.#stored.keys()].some((path) => path.includes(`/${kind}/`)));
  }

  /** Updates the caches of the given kinds every 10 ms until `isOver` returns true. */
  async updateUntil(isOver: () => boolean, kinds: readonly string[]): Promise<void> {
    while (!isOver()) {
      for (const kind of kinds) this.#update(kind);
      await delay(10);
    }
  }

  #update(kind: string): void {
    const isOfKind = ([path]: readonly [string, string]): boolean => path.includes(`/${kind}/`);
    for (const [path] of [...this.#cached].filter(isOfKind)) this.#cached.delete(path);
    for (const [path, text] of [...this.#stored].filter(isOfKind)) this.#cached.set(path, text);
  }

  #allows(review: unknown): boolean {
    const { user, resourceAttributes } = (review as { readonly spec: Readonly<Record<string, unknown>> }).spec;
    const { namespace } = resourceAttributes as { readonly namespace?: string };
    const kinds = namespace === undefined ? ['clusterroles', 'clusterrolebindings'] : ['roles', 'rolebindings'];
    return kinds.every((kind) => [...this.#cached.keys()].some((path) => path.endsWith(`/${kind}/${String(user)}`)));
  }
}

describe('the wait for the caches of RBAC objects and webhooks', () => {
  for (const late of KINDS)
    it(`lasts until the API server has also read the ${late}`, async () => {
      const slow = new SlowApi();
      const others = KINDS.filter((kind) => kind !== late);
      let isOver = false;
      const wait = waitForAccessCaches(slow.api).then(() => (isOver = true));
      // On most machines, 15 updates are enough for all steps of `waitForAccessCaches`.
      let updates = 0;
      await slow.updateUntil(() => isOver || updates++ === 15, others);
      expect(isOver).to.equal(false);
      expect(slow.stored()).to.include(late);
      await Promise.all([wait, slow.updateUntil(() => isOver, KINDS)]);
      expect(slow.stored()).to.deep.equal([]);
    });
});
