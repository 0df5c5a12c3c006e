import { apiVersionOf, type FakeKind, type FakeJson } from './fake-storage.ts';

/** The built-in kinds that every FakeApiServer serves. */
export const BUILT_IN: readonly FakeKind[] = [
  { group: '', plural: 'namespaces', kind: 'Namespace', versions: ['v1'], namespaced: false },
  { group: '', plural: 'secrets', kind: 'Secret', versions: ['v1'], status: false },
  { group: '', plural: 'events', kind: 'Event', versions: ['v1'], status: false },
  { group: 'coordination.k8s.io', plural: 'leases', kind: 'Lease', versions: ['v1'], status: false },
];

/** Returns the server version, APIGroup, or APIResourceList for a discovery path. */
export function discoveryDocument(kinds: readonly FakeKind[], path: string): FakeJson | undefined {
  if (path === '/version') return { major: '1', minor: '36', gitVersion: 'v1.36.3' };
  const match = /^\/(?:api|apis\/([^/]+))(?:\/([^/]+))?$/.exec(path);
  if (match === null) return undefined;
  const [, group = '', version] = match;
  const members = kinds.filter((kind) => kind.group === group);
  if (version === undefined) return members.length === 0 ? undefined : groupDocument(group, members);
  const served = members.filter((kind) => kind.versions.includes(version));
  return served.length === 0 ? undefined : resourcesDocument(group, version, served);
}

function groupDocument(group: string, kinds: readonly FakeKind[]): FakeJson {
  const versions = [...new Set(kinds.flatMap((kind) => kind.versions))].map((version) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { kind: 'APIGroup', apiVersion: 'v1', name: group, versions, preferredVersion: versions[0] };
}

function resourcesDocument(group: string, version: string, kinds: readonly FakeKind[]): FakeJson {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group }, version),
    resources: kinds.flatMap(({ plural, kind, namespaced = true, status = true }) => [
      { name: plural, kind, namespaced, verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'] },
      ...(status ? [{ name: `${plural}/status`, kind, namespaced, verbs: ['get', 'patch', 'update'] }] : []),
    ]),
  };
}
