import type { ApiClient } from '../clients/api.ts';
import type { EtcdContents } from './etcd.ts';

/**
 * The etcd keys that the API server writes for itself. They are its Leases, which it renews continuously, and the key
 * `compact_rev_key`, which it writes for the first time after five minutes. A comparison of etcd contents ignores these
 * keys. A reset of a control plane keeps them too, because the API server panics at its next compaction if
 * `compact_rev_key` is missing.
 */
const OWN_KEYS = /^(\/registry\/(leases\/kube-system\/apiserver-|peerserverleases\/)|compact_rev_key$)/;
/**
 * The prefix of the etcd keys of APIServices. The API server creates and deletes an APIService for each served version
 * of a CRD, a moment after the CRD is created or deleted.
 */
const API_SERVICES = '/registry/apiregistration.k8s.io/apiservices/';

/**
 * A snapshot of the contents of etcd and of the names of all objects that the API server serves. A comparison with a
 * later snapshot shows whether a test file has left something behind.
 */
export interface Inventory {
  readonly contents: EtcdContents;
  readonly served: readonly string[];
}

/** Descriptions of the additional, changed, and missing keys and objects. */
interface InventoryDifferences {
  /** Differences of the etcd keys that only tests, and the processes that tests start, write and delete. */
  readonly inEtcd: readonly string[];
  /** Differences of the APIServices, which only the API server deletes, and of the served kinds and objects. */
  readonly inApiServer: readonly string[];
}

export function compareInventories(expected: Inventory, found: Inventory): InventoryDifferences {
  const keys = new Set([...found.contents.keys(), ...expected.contents.keys()]);
  const different = [...keys].filter(
    (key) => expected.contents.get(key) !== found.contents.get(key) && !OWN_KEYS.test(key),
  );
  const describe = (key: string): string => {
    if (!expected.contents.has(key)) return `${key} is left over`;
    return found.contents.has(key) ? `${key} has changed` : `${key} is missing`;
  };
  const [before, now] = [new Set(expected.served), new Set(found.served)];
  return {
    inEtcd: different.filter((key) => !key.startsWith(API_SERVICES)).map(describe),
    inApiServer: [
      ...different.filter((key) => key.startsWith(API_SERVICES)).map(describe),
      ...[...now].filter((each) => !before.has(each)).map((each) => `${each} is still served`),
      ...[...before].filter((each) => !now.has(each)).map((each) => `${each} is no longer served`),
    ],
  };
}

/**
 * Returns the changes that give etcd the expected contents: each changed key with its expected value, or with undefined
 * if the key must be deleted. The changes do not delete APIServices. The API server deletes an APIService a moment
 * after its CRD, and would create it again if a test deleted it first.
 */
export function changesTo(expected: EtcdContents, found: EtcdContents): ReadonlyMap<string, string | undefined> {
  const extra = [...found.keys()].filter((key) => !expected.has(key) && !key.startsWith(API_SERVICES));
  const changed = [...expected].filter(([key, value]) => found.get(key) !== value);
  const all = [...extra.map((key) => [key, undefined] as const), ...changed];
  return new Map(all.filter(([key]) => !OWN_KEYS.test(key)));
}

interface Discovery {
  readonly groups: readonly {
    readonly preferredVersion: { readonly groupVersion: string };
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}

interface Resources {
  readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

/**
 * Lists what the API server serves: the path of each API version, the path of each kind that can be listed, and the
 * namespace and name of each object.
 */
export async function readServed(api: ApiClient): Promise<readonly string[]> {
  const { groups } = await api.get<Discovery>('/apis');
  const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`));
  const lists = await Promise.all(['/api/v1', ...versions].map((version) => readVersion(api, version)));
  return lists.flat();
}

async function readVersion(api: ApiClient, version: string): Promise<readonly string[]> {
  const { resources } = await api.get<Resources>(version);
  const paths = resources.filter(({ verbs }) => verbs.includes('list')).map(({ name }) => `${version}/${name}`);
  const lists = await Promise.all(
    paths.map(async (path) => {
      const { items } = await api.list(path);
      return items.map(({ metadata: { namespace = '', name } }) => `${path} ${namespace}/${name}`);
    }),
  );
  return [version, ...paths, ...lists.flat()];
}
