import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MAX_FILE_BYTES } from '../io.ts';
import { podOf, readPodFile } from './pod.ts';

describe('A pod in a manifest', () => {
  const template = {
    metadata: { labels: { app: 'web', bad: 7 }, annotations: { a: 'b' } },
    spec: { hostNetwork: true },
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
    expect(podOf({ kind: 'Pod', metadata, spec: {} }, 'shop')?.created).to.deep.equal({
      at: Date.UTC(2026, 10, 21, 3, 25),
    });
    expect(podOf({ kind: 'Pod', metadata: { name: 'p' }, spec: {} }, 'shop')).not.to.have.property('created');
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
  ])
    it(`is not in ${JSON.stringify(other)}`, () => expect(podOf(other, 'shop')).to.equal(undefined));
});

describe('readPodFile', () => {
  const { signal } = new AbortController();
  const read = (text: string, name?: string) =>
    readPodFile('-', name, 'shop', { readStdin: async () => text, signal }).then(
      (pod) => `${pod.kind} ${pod.namespace}/${pod.name}`,
      (error: unknown) => String(error),
    );
  const TWO =
    'kind: Service\n---\nkind: Pod\nmetadata: {name: a}\nspec: {}\n---\nkind: Pod\nmetadata: {name: b}\nspec: {}\n';

  it('takes the one object with pods, or the named one', async () => {
    expect(await read('kind: Service\n---\nkind: Pod\nmetadata: {name: a}\nspec: {}\n---\n')).to.equal('Pod shop/a');
    expect(await read(TWO, 'b')).to.equal('Pod shop/b');
    expect(await read('{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"c"},"spec":{}}]}')).to.equal(
      'Pod shop/c',
    );
  });

  it('says what there is otherwise', async () => {
    const choose = 'standard input: name one of the objects that are pods or make pods; there is: ';
    expect(await read(TWO)).to.equal(`Failure: ${choose}Pod a, Pod b`);
    expect(await read(TWO, 'x')).to.equal(`Failure: ${choose}Pod a, Pod b`);
    expect(await read('kind: Service')).to.equal(`Failure: ${choose}nothing`);
    expect(await read('')).to.equal(`Failure: ${choose}nothing`);
    expect(await read(`a: ${'x'.repeat(MAX_FILE_BYTES)}`)).to.contain('capaf reads at most 8 MiB');
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
      writeFileSync(join(folder, 'pod.yaml'), 'kind: Pod\nmetadata: {name: a, namespace: own}\nspec: {}\n');
      const io = { readStdin: async () => '', signal };
      expect(await readPodFile(join(folder, 'pod.yaml'), undefined, 'shop', io)).to.include({ namespace: 'own' });
      const missing = await readPodFile(join(folder, 'no.yaml'), undefined, 'shop', io).catch(String);
      expect(missing).to.match(/^Failure: reading .*no\.yaml/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
