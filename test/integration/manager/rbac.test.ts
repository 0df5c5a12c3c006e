import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemRandom } from 'controller-runtime/env';
import { selfSignedCertificate } from 'controller-runtime/http';
import { documentedMetrics } from '../../../hack/metrics.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { openTerminal } from '../../docs/terminal.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { requestDiagnostics } from '../../world/manager/diagnostics.ts';
import type { DiagnosticsRequest, DiagnosticsResponse } from '../../world/manager/diagnostics.ts';
import type { RunningManager } from '../../world/manager/manager.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

const DAY_MS = 24 * 3_600_000;

// least-privilege.test.ts proves that the permissions suffice for two managers and for the teardown of a cluster.
describe('the manager with only the permissions of config/rbac', () => {
  const world = useWorld();
  let first: RunningManager;
  before(async () => {
    first = await world.startManager({ flags: ['--leader-elect', '--leader-elect-namespace', 'capaf-system'] });
  });

  it('creates and deletes a profile and emits events', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'));
    await world.ready('web');
    await world.event('web', 'Created new EKS fargate profile');
    const counted = async (name: string, labels?: Readonly<Record<string, string>>): Promise<boolean> =>
      (await first.metric(name, labels)) >= 1;
    expect(await first.metric('capaf_awsfargateprofiles', { phase: 'Ready', reason: 'Ready' })).to.equal(1);
    for (const name of [
      'capaf_awsfargateprofile_time_to_ready_seconds_count',
      'capaf_cluster_queue_wait_seconds_count',
    ])
      await eventually(() => counted(name), { what: name });
    for (const service of ['eks', 'iam', 'sts']) {
      await eventually(() => counted('capaf_aws_limiter_wait_seconds_count', { service }), { what: service });
      await eventually(() => counted('aws_api_requests_total', { service, error_code: '' }), { what: service });
    }
    await world.delete('web');
    await world.gone('web');
  });

  it('serves only metrics with --insecure-diagnostics', async () => {
    const status = async (path: string, method: string): Promise<number> =>
      (await fetch(new URL(path, first.metricsUrl), { method })).status;
    expect(await status('/metrics', 'GET')).to.equal(200);
    expect(await status('/debug/flags/v', 'PUT')).to.equal(405);
    for (const path of ['/debug/flags/v', '/debug/pprof/heap?seconds=1', '/debug/pprof/profile?seconds=1'])
      expect(await status(path, 'GET'), path).to.equal(404);
  });

  describe('and its diagnostics endpoints', () => {
    let directory: string;
    let manager: RunningManager;
    const tokens = { prometheus: '', operator: '', stranger: '' };
    const validity = { notBefore: Date.now() - DAY_MS, notAfter: Date.now() + DAY_MS };
    const { cert, key } = selfSignedCertificate({ hostname: 'first', ...validity }, systemRandom);
    const send = (options: DiagnosticsRequest): Promise<DiagnosticsResponse> => requestDiagnostics(manager, options);
    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'capaf-diagnostics-'));
      writeFileSync(join(directory, 'tls.crt'), cert);
      writeFileSync(join(directory, 'tls.key'), key);
      for (const args of ['create namespace monitoring', 'create serviceaccount stranger']) await kubectl(args);
      await kubectl('create serviceaccount prometheus-k8s --namespace monitoring');
      const terminal = await openTerminal(world.controlPlane);
      for (const text of ['capaf-metrics', 'capaf-debug']) await terminal.run(page.next(text));
      terminal.close();
      tokens.prometheus = await kubectl('create token prometheus-k8s --namespace monitoring');
      tokens.operator = await kubectl('create token debug --namespace capaf-system');
      tokens.stranger = await kubectl('create token stranger');
      manager = await world.startManager({
        name: 'observed',
        flags: [
          '--leader-elect',
          '--leader-elect-namespace=capaf-system',
          '--insecure-diagnostics=false',
          `--metrics-cert-path=${directory}`,
        ],
        verbosity: 0,
      });
    });
    after(() => rmSync(directory, { recursive: true, force: true }));
    const page = takeBlocks('docs/observability.md', import.meta.url);

    async function kubectl(args: string): Promise<string> {
      const { code, stdout, stderr } = await world.kubectl(args.split(/\s+/));
      expect(code, `kubectl ${args}: ${stderr}`).to.equal(0);
      return stdout.trim();
    }

    it('require a token and permission', async () => {
      const { prometheus, stranger, operator } = tokens;
      const status = async (options: Omit<DiagnosticsRequest, 'path'>): Promise<number> =>
        (await send({ path: '/metrics', ca: cert, ...options })).status;
      expect(await status({})).to.equal(401);
      expect(await status({ token: 'unknown' })).to.equal(401);
      expect(await status({ token: stranger })).to.equal(403);
      expect(await status({ token: operator })).to.equal(403);
      const metrics = await send({ path: '/metrics', token: prometheus });
      expect(metrics).to.include({ status: 200, servedBy: 'first' });
      expect(metrics.body).to.match(/^rest_client_requests_total\{/m);
      const names = [...metrics.body.matchAll(/^# HELP (\S+)/gm)].map(([, name = '']) => name);
      const documented = documentedMetrics().map(({ name }) => name);
      // docs/metrics.md lists only some of the process metrics of the library prom-client, so the test ignores the
      // others.
      const isListed = (name: string): boolean => documented.includes(name) || !/^(process|nodejs)_/.test(name);
      expect(names.filter(isListed)).to.have.members(documented);
      expect(metrics.body).to.match(/^capaf_serving_certificate_expiry_timestamp_seconds 1\d{9}/m);
      for (const path of ['/debug/pprof/heap?seconds=1', '/debug/pprof/profile?seconds=1'])
        expect((await send({ path, token: prometheus })).status, path).to.equal(403);
    });

    it('set the log verbosity and take profiles of the running manager', async () => {
      const { stranger, operator } = tokens;
      const denied = /"A request for diagnostics was denied"/;
      const put = { path: '/debug/flags/v', method: 'PUT', body: '4' };
      expect((await send({ ...put, token: stranger })).status).to.equal(403);
      expect(manager.log()).to.not.match(denied);
      expect((await send({ ...put, token: operator })).body).to.equal('successfully set klog.logging.verbosity to 4\n');
      expect((await send({ ...put, token: stranger })).status).to.equal(403);
      await eventually(() => denied.test(manager.log()), { what: 'the log line of verbosity 4' });
      const heap = await send({ path: '/debug/pprof/heap?seconds=1', token: operator });
      expect(JSON.parse(heap.body)).to.include.keys('head');
    });
  });

  it('can get Secrets by name in its own namespace, and cannot list Secrets or read others', async () => {
    const manager = world.controlPlane.api.withToken(world.controlPlane.user(MANAGER_ACCOUNT).token);
    const statusOf = async (path: string): Promise<number> => (await manager.request('GET', path)).status;
    expect(await statusOf('/api/v1/namespaces/capaf-system/secrets/any'), 'not found, so allowed').to.equal(404);
    for (const path of ['/namespaces/capaf-system/secrets', '/namespaces/default/secrets/any', '/secrets'])
      expect(await statusOf(`/api/v1${path}`), path).to.equal(403);
    manager.close();
  });
});
