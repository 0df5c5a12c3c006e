import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { blocksOf, takeBlocks } from '../../docs/blocks.ts';
import type { ProgramResult } from '../../support/run-program.ts';
import { REGION, fargateProfile, useWorld } from '../../world/world.ts';
import { runCapaf } from './run-capaf.ts';
import { applyKubeconfigSecret } from './workload.ts';

interface PodOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly schedulerName?: string;
  readonly metadata?: object;
}

const pod = (
  name: string,
  { labels = { app: 'web' }, schedulerName = 'default-scheduler', metadata }: PodOptions = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels, ...metadata },
  spec: { schedulerName, containers: [{ name: 'main', image: 'nginx', resources: { requests: { cpu: '300m' } } }] },
});

const OWNED = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
};

/** Replaces times with a placeholder. */
const withoutTimes = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>');

const DAEMON_SET = `
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {hostNetwork: true, containers: [{name: a, securityContext: {privileged: true}}]}
`;

// The API server is both the management cluster and the workload cluster.
describe('capaf explain pod', () => {
  const world = useWorld();
  const page = takeBlocks('docs/cli.md', import.meta.url);

  const capaf = (args: readonly string[], stdin = '', env: NodeJS.ProcessEnv = {}): Promise<ProgramResult> =>
    runCapaf(world, ['explain', 'pod', ...args], { stdin, env });

  before(async () => {
    await world.startManager();
    await world.createEksCluster('prod');
    await world.createNamespace('shop');
    await world.apply(pod('web-7d9c', { metadata: OWNED }));
    const selectors = [{ namespace: 'shop', labels: { app: 'web' } }];
    await world.apply(fargateProfile('web', { selectors }), fargateProfile('other'));
    await Promise.all([world.ready('web'), world.ready('other')]);
    await applyKubeconfigSecret(world, 'prod');
  });

  it('finds a pod through the Secret of the Cluster, and tells that it is older than its profile, as the page shows', async () => {
    const [program, command, kind, ...args] = page.next('capaf explain pod').trim().split(' ');
    expect([program, command, kind]).to.deep.equal(['capaf', 'explain', 'pod']);
    const { stdout, stderr, code } = await capaf(args);
    const output = blocksOf('docs/cli.md').find(({ text }) => text.includes('Pod shop/web-7d9c'));
    // On a slow machine, capaf also writes its progress to standard error.
    expect(withoutTimes(stdout.trim()), stderr).to.equal(withoutTimes(output?.text.trim() ?? ''));
    expect(code).to.equal(2);
  });

  it('says yes to a pod that EKS has admitted, and exits with 0', async () => {
    const labels = { app: 'web', 'eks.amazonaws.com/fargate-profile': 'default_web' };
    await world.apply(pod('admitted', { labels, schedulerName: 'fargate-scheduler' }));
    const { stdout, code } = await capaf(['admitted', '-n', 'shop', '--cluster', 'prod', '-o', 'json']);
    expect(JSON.parse(stdout)).to.deep.include({
      taker: 'default_web',
      violations: [],
      said: [],
      traps: [],
      advice: [],
      size: { vCPU: 0.5, memoryGB: 1 },
      unseen: [],
    });
    expect(code).to.equal(0);
  });

  it('explains a manifest with the profiles of EKS, without an API server', async () => {
    const cluster = `default_prod-control-plane`;
    const args = ['-f', '-', '--eks-cluster', cluster, '--region', REGION, '-o', 'json'];
    const { stdout, code } = await capaf(args, DAEMON_SET, { KUBECONFIG: '/nonexistent' });
    const { taker, violations } = JSON.parse(stdout) as { taker: string; violations: { field: string }[] };
    expect(taker).to.equal('default_web');
    expect(violations.map(({ field }) => field)).to.deep.equal([
      'kind',
      'spec.template.spec.hostNetwork',
      'spec.template.spec.containers[0].securityContext.privileged',
    ]);
    expect(code).to.equal(2);
  });

  it('follows the claims of a manifest in the workload cluster, and quotes the events of a pod', async () => {
    const metadata = { name: 'gp3', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } };
    const gp3 = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, provisioner: 'ebs.csi.aws.com' };
    const labels = { app: 'web', 'eks.amazonaws.com/fargate-profile': 'default_web' };
    await world.kubectl(['apply', '-f', '-'], JSON.stringify(gp3));
    await world.apply(pod('waiting', { labels, schedulerName: 'fargate-scheduler' }));
    const manifest = `
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]
`;
    const ofFile = await capaf(['-f', '-', '--cluster', 'prod', '-o', 'json'], manifest);
    expect(JSON.parse(ofFile.stdout)).to.deep.include({
      violations: [{ field: 'spec.volumeClaimTemplates[0]', message: 'EBS volumes cannot be mounted; use EFS' }],
      unseen: [],
    });
    const { uid } = (await world.controlPlane.api.get('/api/v1/namespaces/shop/pods/waiting')).metadata;
    await world.apply({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'waiting.1', namespace: 'shop' },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'waiting', uid },
      type: 'Warning',
      reason: 'FailedScheduling',
      message: 'Pod not supported on Fargate: invalid SecurityContext fields: Privileged',
      source: { component: 'fargate-scheduler' },
      lastTimestamp: '2026-11-28T10:00:00Z',
    });
    const { stdout: text, code } = await capaf(['waiting', '-n', 'shop', '--cluster', 'prod']);
    expect(text).to.contain(
      'fargate-scheduler: "Pod not supported on Fargate: invalid SecurityContext fields: Privileged"\n    → Remove the fields',
    );
    expect(code).to.equal(2);
  });

  it('runs no program that a kubeconfig in a Secret names', async () => {
    const marker = join(world.controlPlane.dir, 'was-run');
    const script = join(world.controlPlane.dir, 'plugin.sh');
    writeFileSync(script, `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    await applyKubeconfigSecret(world, 'prod', {
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: script },
    });
    const { stderr, code } = await capaf(['web-7d9c', '-n', 'shop', '--cluster', 'prod']);
    expect(stderr).to.equal(
      'capaf: kubeconfig in Secret default/prod-kubeconfig: exec of "prod" is not used, because it is about the local machine\n',
    );
    expect(code).to.equal(1);
    expect(() => readFileSync(marker)).to.throw('ENOENT');
  });

  it('fails without a cluster, and says what would be right', async () => {
    expect(await capaf(['web-7d9c'])).to.deep.equal({
      stdout: '',
      stderr: 'capaf: name either a Cluster of Cluster API with --cluster, or an EKS cluster with --eks-cluster\n',
      code: 1,
    });
  });
});
