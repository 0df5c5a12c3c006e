import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MAX_FILE_BYTES } from '../io.ts';
import { podOf, readPodFile } from './pod.ts';

describe('A pod in a manifest', () => {
  const template = {
    metadata: { labels: { app: 'web', bad: 7 }, annotations: { a: 'b' } },
    spec: { hostNetwork: true, containers: [{ name: 'main' }] },
  };

  for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicaSet', 'Rollout'])
    it(`is the template of a ${kind}`, () => {
      const pod = podOf({ kind, metadata: { name: 'web', uid: 'u' }, spec: { template } }, 'shop');
      expect(pod).to.deep.include({
        kind,
        namespace: 'shop',
        name: 'web',
        labels: { app: 'web' },
        path: 'spec.template.spec',
      });
      expect(pod).not.to.have.property('created');
    });

  it('is the template of a CronJob, two levels down', () => {
    const spec = { jobTemplate: { spec: { template } } };
    expect(podOf({ kind: 'CronJob', metadata: { name: 'n', namespace: 'batch' }, spec }, 'shop')).to.deep.include({
      namespace: 'batch',
      labels: { app: 'web' },
      annotations: { a: 'b' },
      path: 'spec.jobTemplate.spec.template.spec',
    });
  });

  it('has been created if the API server has given it a uid', () => {
    const metadata = { name: 'p', uid: 'u', creationTimestamp: '2026-11-21T03:25:00Z' };
    const { spec } = template;
    const status = { phase: 'Pending' };
    expect(podOf({ kind: 'Pod', metadata, spec, status }, 'shop')?.created).to.deep.equal({
      at: Date.UTC(2026, 10, 21, 3, 25),
      uid: 'u',
      status,
    });
    expect(podOf({ kind: 'Pod', metadata: { name: 'p' }, spec }, 'shop')).not.to.have.property('created');
  });

  for (const other of [
    null,
    7,
    'text',
    [],
    {},
    { kind: 'Pod' },
    { kind: 'Service', spec: {} },
    { kind: 'Job', spec: { template: 7 } },
    { kind: 'Pod', spec: {} },
    { kind: 'Pod', spec: { containers: [] } },
    { kind: 'Pod', spec: { containers: [7] } },
    { kind: 'RunnerDeployment', spec: { template: { spec: { containers: [{}] } } } },
  ])
    it(`is not in ${JSON.stringify(other)}`, () => expect(podOf(other, 'shop')).to.equal(undefined));
});

describe('readPodFile', () => {
  const { signal } = new AbortController();
  const read = (text: string, name?: string, asked?: string) =>
    readPodFile('-', name, { asked, default: 'shop' }, { readStdin: async () => text, signal }).then(
      ({ pod }) => `${pod.kind} ${pod.namespace}/${pod.name}`,
      (error: unknown) => String(error),
    );
  const pod = (name: string, kind = 'Pod') => `kind: ${kind}\nmetadata: {name: ${name}}\nspec: {containers: [{}]}\n`;
  const TWO = `kind: Service\n---\n${pod('a')}---\n${pod('b')}`;

  it('takes the one object with pods, or the named one', async () => {
    expect(await read(`kind: Service\n---\n${pod('a')}---\n`)).to.equal('Pod shop/a');
    expect(await read(TWO, 'b')).to.equal('Pod shop/b');
    expect(
      await read(
        `${TWO}---\n${pod('b', 'ReplicaSet').replace('{containers: [{}]}', '{template: {spec: {containers: [{}]}}}')}`,
        'replicaset/b',
      ),
    ).to.equal('ReplicaSet shop/b');
    const item = '{"kind":"Pod","metadata":{"name":"c"},"spec":{"containers":[{}]}}';
    expect(await read(`{"kind":"List","items":[${item}]}`)).to.equal('Pod shop/c');
  });

  it('says what there is otherwise, and which kinds have pods', async () => {
    const choose =
      'Failure: standard input: name one of the objects that have pods (CronJob, DaemonSet, Deployment, Job, Pod, PodTemplate, ReplicaSet, ReplicationController, Rollout, StatefulSet); there is: ';
    expect(await read(TWO)).to.equal(`${choose}pod/a, pod/b`);
    expect(await read(TWO, 'x')).to.equal(`${choose}pod/a, pod/b`);
    const none = choose.replace(
      'name one of the objects that have pods',
      'there are no objects whose pods capaf knows',
    );
    expect(await read('kind: Service')).to.equal(`${none}Service`);
    expect(await read('kind: Service\n---\nkind: Service\n---\nkind: Role', 'web')).to.equal(`${none}Service, Role`);
    expect(await read('')).to.equal(`${none}nothing`);
    expect(await read(`a: ${'x'.repeat(MAX_FILE_BYTES)}`)).to.contain('capaf reads at most 8 MiB');
  });

  it('does not treat another kind with a field `template` as a kind with pods', async () => {
    const runner =
      'kind: RunnerDeployment\nspec: {template: {spec: {repository: o/r, resources: {limits: {cpu: 1}}}}}\n';
    expect(await read(runner)).to.match(
      /^Failure: standard input: there are no objects whose pods capaf knows .*; there is: RunnerDeployment$/,
    );
    expect(await read('kind: Pod\nmetadata: {name: a}\nspec: {}\n')).to.equal(
      'Failure: standard input:3:7: there are no containers in spec.containers, so there is no pod',
    );
    expect(await read('kind: Job\nmetadata: {name: a}\nspec:\n  template: {spec: {image: x}}\n')).to.equal(
      'Failure: standard input:4:20: there are no containers in spec.template.spec.containers, so there is no pod',
    );
  });

  it("refuses a namespace in -n that differs from the manifest's, as kubectl does", async () => {
    const manifest = 'kind: Pod\nmetadata: {name: a, namespace: own}\nspec: {containers: [{}]}\n';
    expect(await read(manifest)).to.equal('Pod own/a');
    expect(await read(manifest, undefined, 'own')).to.equal('Pod own/a');
    expect(await read(manifest, undefined, 'other')).to.equal(
      'Failure: standard input:2:32: the namespace is own, but -n names other',
    );
    expect(await read(pod('a'), undefined, 'other')).to.equal('Pod other/a');
  });

  it('refuses duplicate keys only in objects with pods: charts have them in other objects, as kubectl allows', async () => {
    const settings = 'kind: ConfigMap\ndata: {a: b, a: c}\n';
    expect(await read(`${settings}---\n${pod('a')}`)).to.equal('Pod shop/a');
    expect(await read(`${settings}---\n${pod('a')}kind: Pod\n`)).to.equal(
      'Failure: standard input:7:1: the key "kind" is there twice',
    );
  });

  it('refuses labels that are not strings, as the API server does', async () => {
    const manifest = (labels: string) =>
      `kind: Pod\nmetadata: {name: a, labels: ${labels}}\nspec: {containers: [{}]}\n`;
    expect(await read(manifest('{team: yes}'))).to.equal(
      'Failure: standard input:2:36: metadata.labels.team: expected string, got true',
    );
    expect(await read(manifest('{team: "yes", empty: null}'))).to.equal('Pod shop/a');
    expect(await read(manifest('null'))).to.equal('Pod shop/a');
  });

  it('names line and column of what is not YAML, and expands no alias bomb', async () => {
    expect(await read('kind: [Pod\nspec: {}')).to.match(/^Failure: standard input:2:1: /);
    const bomb = [
      'a: &a [x, x]',
      ...Array.from({ length: 30 }, (_, at) => `b${at}: &b${at} [*${at === 0 ? 'a' : `b${at - 1}`}, *a]`),
    ];
    expect(await read(bomb.join('\n'))).to.match(/^Failure: standard input: Excessive alias count/);
  });

  it('reads files, and says which it cannot read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'explain-'));
    try {
      writeFileSync(join(folder, 'pod.yaml'), pod('a').replace('name: a', 'name: a, namespace: own'));
      const io = { readStdin: async () => '', signal };
      const namespaces = { asked: undefined, default: 'shop' };
      const { pod: found, documents } = await readPodFile(join(folder, 'pod.yaml'), undefined, namespaces, io);
      expect(found).to.include({ namespace: 'own' });
      expect(documents).to.have.length(1);
      const missing = await readPodFile(join(folder, 'no.yaml'), undefined, namespaces, io).catch(String);
      expect(missing).to.match(/^Failure: reading .*no\.yaml/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
