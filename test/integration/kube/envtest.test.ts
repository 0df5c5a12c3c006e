import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { startControlPlane, type ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { applyCrds, loadCrds, withOnlyVersion, STAND_IN_CRDS } from '../../envtest/clients/crds.ts';
import { kubectl } from '../../envtest/clients/kubectl.ts';
import { isAlive } from '../../envtest/binaries/lock.ts';
import { eventually } from '../../support/eventually.ts';

const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/awsmanagedcontrolplanes';
const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters';

function awsManagedControlPlane(name: string): object {
  return {
    apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
    kind: 'AWSManagedControlPlane',
    metadata: { name },
    spec: { eksClusterName: `default_${name}`, region: 'eu-central-1', sshKeyName: 'kept though no schema names it' },
  };
}

const configMap = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

describe('the test control plane', () => {
  let controlPlane: ControlPlane;

  before(async () => {
    controlPlane = await startControlPlane({ users: [{ name: 'reader', groups: ['readers'] }] });
    await applyCrds(controlPlane.api, STAND_IN_CRDS);
  });
  after(() => controlPlane.stop());

  it('serves stored objects with a status subresource, and preserves unknown fields where the CRD of the kind has more', async () => {
    const { api } = controlPlane;
    await api.post(CONTROL_PLANES, awsManagedControlPlane('prod'));
    const stored = await api.patch(`${CONTROL_PLANES}/prod/status`, {
      status: { ready: true },
      spec: { region: 'no' },
    });
    expect(stored.spec).to.deep.equal({
      eksClusterName: 'default_prod',
      region: 'eu-central-1',
      sshKeyName: 'kept though no schema names it',
    });
    expect(stored.status).to.deep.equal({ ready: true, externalManagedControlPlane: true });
  });

  it('returns the message of the API server in an ApiError', async () => {
    const { api } = controlPlane;
    const refusal = await api
      .post(CLUSTERS, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'x' },
        spec: { controlPlaneRef: { kind: 'AWSManagedControlPlane', name: 'x' } },
      })
      .catch((error: unknown) => error);
    expect(refusal).to.include({ name: 'ApiError', status: 422, reason: 'Invalid' });
    expect(String(refusal)).to.contain('spec.controlPlaneRef.apiGroup: Required value');
  });

  it('returns the warnings of the API server', async () => {
    const response = await controlPlane.api.request('POST', CONTROL_PLANES, {
      body: { ...awsManagedControlPlane('typo'), status: { raedy: true }, sepc: {} },
      query: { dryRun: 'All' },
    });
    expect(response.status).to.equal(201);
    expect(response.warnings).to.deep.equal(['unknown field "sepc"']);
  });

  it('gives users only the permissions that RBAC grants', async () => {
    const { api } = controlPlane;
    const reader = api.withToken(controlPlane.user('reader').token);
    expect((await reader.request('GET', CONTROL_PLANES)).status).to.equal(403);
    await api.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'readers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'readers' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'readers' }],
    });
    await api.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'readers' },
      rules: [{ apiGroups: ['controlplane.cluster.x-k8s.io'], resources: ['*'], verbs: ['get', 'list'] }],
    });
    await eventually(async () => (await reader.request('GET', CONTROL_PLANES)).status === 200);
    expect((await reader.request('POST', CONTROL_PLANES, { body: awsManagedControlPlane('mine') })).status).to.equal(
      403,
    );
    reader.close();
  });

  it('works with kubectl as administrator or as a user', async () => {
    const applied = await kubectl(controlPlane, ['apply', '-f', '-'], {
      stdin: JSON.stringify(awsManagedControlPlane('by-kubectl')),
    });
    expect(applied).to.deep.equal({
      stdout: 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io/by-kubectl created\n',
      stderr: '',
      code: 0,
    });
    const version = await kubectl(controlPlane, ['version']);
    expect(version.stdout).to.match(/^Client Version: (v\d+\.\d+\.\d+)\n.*\nServer Version: \1\n$/s);
    const refused = await kubectl(controlPlane, ['get', 'secrets'], { user: 'reader' });
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain('secrets is forbidden: User "reader" cannot list');
  });

  it('delivers each version of an object to a watch', async () => {
    const { api } = controlPlane;
    const { metadata } = await api.list('/api/v1/namespaces/default/configmaps');
    const seen: string[] = [];
    await api.post('/api/v1/namespaces/default/configmaps', configMap('watched'));
    await api.patch('/api/v1/namespaces/default/configmaps/watched', { data: { a: 'b' } });
    await api.delete('/api/v1/namespaces/default/configmaps/watched');
    const query = { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name=watched' };
    for await (const { type } of api.watch('/api/v1/namespaces/default/configmaps', query)) {
      seen.push(type);
      if (type === 'DELETED') break;
    }
    expect(seen).to.deep.equal(['ADDED', 'MODIFIED', 'DELETED']);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`keeps data, address and credentials when the API server is stopped by ${signal} and started again`, async () => {
      const { api } = controlPlane;
      const name = `survivor-of-${signal.toLowerCase()}`;
      await api.post(CONTROL_PLANES, awsManagedControlPlane(name));
      const before = await api.get(`${CONTROL_PLANES}/${name}`);
      await controlPlane.stopApiServer(signal);
      const unreachable = await api.get(`${CONTROL_PLANES}/${name}`).catch((error: unknown) => String(error));
      expect(unreachable).to.match(/ECONNREFUSED|ECONNRESET|socket hang up/);
      await controlPlane.startApiServer();
      expect(await api.get(`${CONTROL_PLANES}/${name}`)).to.deep.equal(before);
    });
  }

  it('refuses to continue an old list or watch after compactHistory', async () => {
    const { api } = controlPlane;
    const path = '/api/v1/namespaces/default/configmaps';
    for (const name of ['page-1', 'page-2']) await api.post(path, configMap(name));
    const first = await api.list(path, { limit: 1 });
    await api.post(path, configMap('page-3'));
    await controlPlane.compactHistory();
    const next = await api.request('GET', path, { query: { limit: 1, continue: first.metadata.continue ?? '' } });
    expect(next.status).to.equal(410);
    const events = api.watch<{ code?: number }>(path, { resourceVersion: first.metadata.resourceVersion });
    for await (const { type, object } of events) {
      expect({ type, code: object.code }).to.deep.equal({ type: 'ERROR', code: 410 });
      return;
    }
    expect.fail('the watch ended without an event');
  });
});

describe('another test control plane', () => {
  let controlPlane: ControlPlane;
  before(async () => {
    controlPlane = await startControlPlane();
  });
  after(() => controlPlane.stop());

  it('serves Cluster in v1beta1 and v1beta2, or only in v1beta1 for tests of an older Cluster API', async () => {
    const [crd] = await loadCrds(`${STAND_IN_CRDS}/cluster.x-k8s.io_clusters.yaml`);
    if (crd === undefined) expect.fail('there is no CRD of Cluster');
    expect(crd.spec.versions.map(({ name, served }) => ({ name, served }))).to.deep.equal([
      { name: 'v1beta1', served: true },
      { name: 'v1beta2', served: true },
    ]);
    await applyCrds(controlPlane.api, withOnlyVersion(crd, 'v1beta1'));
    const group = await controlPlane.api.get<{ versions: { version: string }[] }>('/apis/cluster.x-k8s.io');
    expect(group.versions.map(({ version }) => version)).to.deep.equal(['v1beta1']);
  });

  it('leaves no process and no directory behind at its end', async () => {
    const sleeper = await controlPlane.run({ name: 'sleeper', file: '/bin/sleep', args: ['600'] });
    const pids = controlPlane.pids();
    expect(pids).to.include(sleeper.pid).and.to.have.length(4);
    expect(pids.filter(isAlive)).to.deep.equal(pids);
    await controlPlane.stop();
    expect(pids.filter(isAlive)).to.deep.equal([]);
    expect(existsSync(controlPlane.dir)).to.equal(false);
    await controlPlane.stop();
  });
});

describe('the end of a test control plane', () => {
  it('follows when the process that started it is killed', async () => {
    const module = new URL('../../envtest/control-plane/controlplane.ts', import.meta.url);
    const script = `import { startControlPlane } from ${JSON.stringify(module.href)};
      const { dir, pids } = await startControlPlane();
      console.log(JSON.stringify({ dir, pids: pids() }));`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: unknown[] = await once(createInterface(parent.stdout), 'line');
    const { dir, pids } = JSON.parse(String(lines[0])) as { dir: string; pids: number[] };
    expect(pids.filter(isAlive)).to.deep.equal(pids).and.to.have.length(3);
    parent.kill('SIGKILL');
    await eventually(() => !pids.some(isAlive) && !existsSync(dir), { what: 'everything being gone' });
  });

  it('after a failed start is reported with the end of the log', async () => {
    const failure = await startControlPlane({ apiServerArgs: ['--no-such-flag'] }).catch((error: unknown) =>
      String(error),
    );
    expect(failure).to.match(
      /starting the test control plane: kube-apiserver ended with 1 before .*\/readyz answering 200/,
    );
    expect(failure).to.contain('unknown flag: --no-such-flag');
  });
});
