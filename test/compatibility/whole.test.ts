import { expect } from 'chai';
import { KUBERNETES_VERSION, OLDEST_KUBERNETES_VERSION, versionParts } from '../envtest/binaries/versions.ts';
import type { ApiResponse } from '../envtest/clients/api.ts';
import { CREATIONS } from '../integration/crd/creations.ts';
import { PROFILES, causesOf, profile } from '../integration/crd/profiles.ts';
import { eventually } from '../support/eventually.ts';
import { startApiHttpProxy } from '../world/manager/api-proxy.ts';
import { OUR_CRD, useWorld } from '../world/world.ts';

/** The Kubernetes versions of the API servers with which `make test-compatibility` runs this file. */
const VERSIONS: Readonly<Record<string, string>> = { oldest: OLDEST_KUBERNETES_VERSION, newest: KUBERNETES_VERSION };
const VERSION = VERSIONS[process.env['KUBERNETES'] ?? 'newest'] ?? '';
/**
 * Matches the part of an error message that shows an invalid value. Kubernetes 1.30 shows the type of the value, e.g.
 * `"string"`, and Kubernetes 1.36 shows the value itself.
 */
const INVALID_VALUE = /Invalid value: (?:"(?:[^"\\]|\\.)*"|null|true|false|-?\d+(?:\.\d+)?): /;

const withoutValue = (cause: string): string => cause.replace(INVALID_VALUE, 'Invalid value: ');

describe(`this provider with kube-apiserver ${VERSION}`, () => {
  const world = useWorld();

  it('runs with the expected API server', async () => {
    const { major, minor } = await world.controlPlane.api.get<{ readonly major: string; readonly minor: string }>(
      '/version',
    );
    expect([major, minor]).to.deep.equal(versionParts(VERSION).slice(0, 2));
    const manager = await world.startManager();
    expect((await manager.readyz()).text).to.contain('[+]kubernetes-version ok\n');
    await world.stopManager();
  });

  it('installs its CRD without a warning', async () => {
    const applied = await world.kubectl(['apply', '--server-side', '--force-conflicts', '-f', OUR_CRD]);
    expect(applied.stderr).to.equal('');
    expect(applied.code).to.equal(0);
  });

  it('lets the API server accept and refuse what it must', async () => {
    const create = (spec: object): Promise<ApiResponse> =>
      world.controlPlane.api.request('POST', PROFILES, { body: profile('new', spec), query: { dryRun: 'All' } });
    expect(CREATIONS.length).to.be.greaterThan(50);
    for (const { what, spec, causes } of CREATIONS)
      // The API server validates the fields of an object in a random order, so the test ignores the order of the
      // errors.
      expect(causesOf(await create(spec)).map(withoutValue), what).to.have.members(causes.map(withoutValue));
  });

  it('is not ready, and says why, where the API server is older than Kubernetes 1.30', async () => {
    const { proxy, kubeconfigPath } = await startApiHttpProxy(world.controlPlane);
    try {
      proxy.answer('/version', { major: '1', minor: '29', gitVersion: 'v1.29.14' });
      const manager = await world.startManager({ name: 'too-old', kubeconfigPath, waitUntilReady: false });
      await eventually(async () => {
        const { status, text } = await manager.readyz();
        expect(text).to.contain('[+]caches ok');
        expect(text).to.contain(
          '[-]kubernetes-version failed: the API server is Kubernetes v1.29.14, but this provider needs v1.30 or newer; upgrade the management cluster\n',
        );
        expect(status).to.equal(500);
        return true;
      });
      await world.stopManager();
    } finally {
      await proxy.close();
    }
  });
});
