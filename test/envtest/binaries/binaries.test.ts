import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { chooseArchive } from './archive.ts';
import { BinariesMissing, cacheRoot, resolveBinaries } from './binaries.ts';
import { freePorts } from '../control-plane/ports.ts';
import {
  KUBERNETES_VERSION,
  OLDEST_KUBERNETES_VERSION,
  PLATFORM,
  gitopsSourcesHash,
  versionParts,
} from './versions.ts';

const [major, minor] = versionParts(KUBERNETES_VERSION);
const OTHER_PATCH = `v${major}.${minor}.0`;
const NAMES = ['kube-apiserver', 'etcd', 'kubectl'] as const;

async function executable(path: string, content = '#!/bin/sh\n'): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
  return path;
}

/**
 * A shell script that stands for the `go` command. For `go version` it prints a version. For a build it writes its
 * arguments and the Go environment variables to the output file, which the tests then read.
 */
const FAKE_GO = `#!/bin/sh
if [ "$1" = version ]; then echo go version go9.9.9 test/test; exit 0; fi
if [ -n "$FAKE_GO_FAILS" ]; then echo "no space left on device" >&2; exit 1; fi
out=; previous=
for argument in "$@"; do [ "$previous" = -o ] && out=$argument; previous=$argument; done
[ -n "$out" ] || out=$GOBIN/\${previous##*/}
out=\${out%@*}
{ echo "$@"; echo "GOOS=$GOOS GOARCH=$GOARCH GOFLAGS=$GOFLAGS GOWORK=$GOWORK CGO_ENABLED=$CGO_ENABLED"; echo "in \${PWD##*/}"; } > "$out"
chmod +x "$out"
`;

describe('resolveBinaries', () => {
  let directory: string;
  let lines: string[];
  let env: NodeJS.ProcessEnv;
  const servers: Server[] = [];
  const report = (line: string): void => void lines.push(line);
  let unreachableUrl: string;
  const resolve = (indexUrl = unreachableUrl): Promise<Record<(typeof NAMES)[number], string>> =>
    resolveBinaries(NAMES, { env, report, indexUrl });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'capaf-binaries-'));
    lines = [];
    unreachableUrl = `http://127.0.0.1:${(await freePorts(1))[0]}/index.yaml`;
    // The PATH has only system directories, so that the code under test does not find Go.
    env = { XDG_CACHE_HOME: join(directory, 'cache'), PATH: ['/usr/bin', '/bin'].join(delimiter), HOME: directory };
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
    await rm(directory, { recursive: true });
  });

  async function serveArchive(version: string, options: { sha512?: string; without?: string } = {}): Promise<string> {
    const source = join(directory, 'archive');
    for (const name of NAMES.filter((candidate) => candidate !== options.without)) {
      await executable(join(source, 'controller-tools', 'envtest', name), `${name} ${version}`);
    }
    const file = join(directory, 'archive.tar.gz');
    execFileSync('tar', ['-czf', file, '-C', source, 'controller-tools']);
    const content = readFileSync(file);
    const server = createServer((request, response) => {
      const base = `http://${request.headers.host}`;
      const hash = options.sha512 ?? createHash('sha512').update(content).digest('hex');
      const archives = { [`envtest-${version}-${PLATFORM}.tar.gz`]: { hash, selfLink: `${base}/archive` } };
      response.end(request.url === '/index.yaml' ? stringify({ releases: { [version]: archives } }) : content);
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}/index.yaml` : '';
  }

  async function addFakeGo(): Promise<void> {
    await executable(join(directory, 'bin', 'go'), FAKE_GO);
    env.PATH = [join(directory, 'bin'), env.PATH].join(delimiter);
  }

  it('prefers KUBEBUILDER_ASSETS, and takes missing binaries from the cache', async () => {
    const assets = join(directory, 'assets');
    const cached = join(cacheRoot(env), `${KUBERNETES_VERSION}-${PLATFORM}`);
    for (const name of NAMES) await executable(join(cached, name));
    await executable(join(assets, 'etcd'));
    await executable(join(assets, 'kubectl'));
    env.KUBEBUILDER_ASSETS = assets;
    expect(await resolve()).to.deep.equal({
      'kube-apiserver': join(cached, 'kube-apiserver'),
      etcd: join(assets, 'etcd'),
      kubectl: join(assets, 'kubectl'),
    });
    expect(lines).to.deep.equal([]);
  });

  it('has its cache in XDG_CACHE_HOME, by default ~/.cache', () => {
    const tail = ['cluster-api-provider-aws-fargate', 'envtest'];
    expect(cacheRoot({ HOME: '/home/me' })).to.equal(join('/home/me', '.cache', ...tail));
    expect(cacheRoot({ HOME: '/home/me', XDG_CACHE_HOME: '/var/cache/me' })).to.equal(join('/var/cache/me', ...tail));
  });

  it('downloads the archive once, into a folder with the version of the archive', async () => {
    const indexUrl = await serveArchive(OTHER_PATCH);
    const first = await resolve(indexUrl);
    const folder = join(cacheRoot(env), `${OTHER_PATCH}-${PLATFORM}`);
    expect(first.etcd).to.equal(join(folder, 'etcd'));
    expect(readFileSync(first.etcd, 'utf8')).to.equal(`etcd ${OTHER_PATCH}`);
    expect(await readdir(cacheRoot(env))).to.deep.equal([`${OTHER_PATCH}-${PLATFORM}`]);
    expect(await resolve()).to.deep.equal(first);
    expect(lines.join('\n')).to.match(/^downloading http.*\/archive\ndownloaded Kubernetes \S+, [\d.]+ s$/);
  });

  it('refuses an archive with another checksum than in the index', async () => {
    const failure = await resolve(await serveArchive(KUBERNETES_VERSION, { sha512: 'ab'.repeat(64) })).catch(String);
    expect(failure).to.match(/has sha512 [0-9a-f]{128}, but the index has (ab){64}/);
    expect(await readdir(cacheRoot(env))).to.deep.equal([]);
  });

  it('refuses an archive without one of the binaries', async () => {
    const failure = await resolve(await serveArchive(KUBERNETES_VERSION, { without: 'kubectl' })).catch(String);
    expect(failure).to.match(/the envtest archive: http\S+ does not contain kubectl/);
    expect(await readdir(cacheRoot(env))).to.deep.equal([]);
  });

  it('builds with Go without a network, ignores Go settings of the user, and reports progress', async () => {
    await addFakeGo();
    Object.assign(env, { GOOS: 'plan9', GOARCH: 'mips', GOFLAGS: '-mod=vendor', GOWORK: '/elsewhere/go.work' });
    const paths = await resolve();
    expect(paths.etcd).to.equal(join(cacheRoot(env), `${KUBERNETES_VERSION}-${PLATFORM}`, 'etcd'));
    const [command, environment] = readFileSync(paths['kube-apiserver'], 'utf8').split('\n');
    expect(command).to.contain(`-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`);
    expect(command).to.contain(`-X k8s.io/component-base/version.gitMinor=${minor} `);
    expect(command).to.match(/ \.\/cmd\/kube-apiserver$/);
    expect(environment).to.equal('GOOS= GOARCH= GOFLAGS= GOWORK=off CGO_ENABLED=0');
    expect(lines[0]).to.match(/^no envtest archive: .*ECONNREFUSED/);
    expect(lines[1]).to.equal('go version go9.9.9 test/test builds the missing binaries from Go modules');
    expect(lines[2]).to.equal(
      `building kube-apiserver ${KUBERNETES_VERSION} from Go modules, once; usually about 3 minutes on 2 cores, more where modules must be downloaded…`,
    );
    expect(lines[3]).to.match(/^built kube-apiserver v\S+, \d+ s$/);
    expect(await readdir(cacheRoot(env))).to.deep.equal([`${KUBERNETES_VERSION}-${PLATFORM}`]);
  });

  it('builds each program in its own module, and again when a source file of test/gitops has changed', async () => {
    await addFakeGo();
    const names = ['kstatus', 'kustomize-controller', 'oldest-kube-apiserver'] as const;
    const paths = await resolveBinaries(names, { env, report, indexUrl: unreachableUrl });
    const built = names.map((name) => readFileSync(paths[name], 'utf8').split('\n'));
    expect(built.map(([, , where]) => where)).to.deep.equal(['in gitops', 'in gitops', 'in compatibility']);
    expect(built[1]?.[0]).to.match(/ github\.com\/fluxcd\/kustomize-controller$/);
    expect(built[2]?.[0]).to.contain(`version.gitVersion=${OLDEST_KUBERNETES_VERSION} `);
    expect(dirname(paths.kstatus)).to.equal(join(cacheRoot(env), `gitops-${gitopsSourcesHash()}-${PLATFORM}`));
    expect(dirname(paths['oldest-kube-apiserver'])).to.equal(
      join(cacheRoot(env), `${OLDEST_KUBERNETES_VERSION}-${PLATFORM}`),
    );
    const sources = join(directory, 'gitops');
    cpSync(new URL('../../gitops/', import.meta.url), sources, { recursive: true });
    const url = pathToFileURL(`${sources}/`);
    expect(gitopsSourcesHash(url)).to.equal(gitopsSourcesHash());
    await writeFile(join(sources, 'cmd/kstatus/main.go'), 'package main');
    expect(gitopsSourcesHash(url)).to.not.equal(gitopsSourcesHash());
  });

  it('fails with the output of Go, and leaves no incomplete binary', async () => {
    await addFakeGo();
    env.FAKE_GO_FAILS = 'yes';
    const failure: unknown = await resolve().catch((error: unknown) => error);
    if (!(failure instanceof Error)) expect.fail('resolve did not fail');
    expect(failure.message).to.equal(`building kube-apiserver ${KUBERNETES_VERSION} from Go modules`);
    expect(String(failure.cause)).to.equal('Error: go build exited with 1:\nno space left on device\n');
    expect(await readdir(join(cacheRoot(env), `${KUBERNETES_VERSION}-${PLATFORM}`))).to.deep.equal([]);
    expect(existsSync(join(cacheRoot(env), 'lock'))).to.equal(false);
  });

  it('builds once for two concurrent calls', async () => {
    await addFakeGo();
    const [one, two] = await Promise.all([resolve(), resolve()]);
    expect(one).to.deep.equal(two);
    expect(lines.filter((line) => line.startsWith('building etcd'))).to.have.length(1);
    expect(
      lines.filter((line) => line.startsWith('waiting for another process that gets the binaries')),
    ).to.have.length(1);
  });

  it('lists all remedies if no source has the binaries', async () => {
    const failure: unknown = await resolve().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(BinariesMissing);
    const text = String(failure)
      .replaceAll(directory, 'DIR')
      .replace(/:\d+ \(after .*\)/, ' (after a while)');
    expect(text).to.equal(
      [
        `BinariesMissing: no kube-apiserver, etcd, kubectl for the test control plane (Kubernetes ${KUBERNETES_VERSION}, ${PLATFORM}).`,
        'To get them, do one of these:',
        '  - set KUBEBUILDER_ASSETS to a folder that holds them (setup-envtest creates one),',
        '  - allow a download from raw.githubusercontent.com and github.com (etcd, kube-apiserver, kubectl only),',
        '  - install Go (https://go.dev/dl), which builds them from Go modules, once.',
        'These sources failed:',
        '  - KUBEBUILDER_ASSETS is not set',
        '  - the cache DIR/cache/cluster-api-provider-aws-fargate/envtest does not have all of them',
        '  - the envtest archive: fetch failed: connect ECONNREFUSED 127.0.0.1 (after a while)',
        '  - no Go toolchain: "go version" does not run',
      ].join('\n'),
    );
  });
});

describe('chooseArchive', () => {
  const entry = (version: string, platform = PLATFORM): object => ({
    [`envtest-${version}-${platform}.tar.gz`]: { hash: `sha of ${version}`, selfLink: `https://example/${version}` },
  });
  const index = (...versions: string[]): object => ({
    releases: Object.fromEntries(versions.map((version) => [version, entry(version)])),
  });

  it('prefers the pinned version, then the newest patch without pre-releases', () => {
    const patch = (n: number | string): string => `v${major}.${minor}.${n}`;
    expect(chooseArchive(index(patch(99), KUBERNETES_VERSION, patch(0)))?.version).to.equal(KUBERNETES_VERSION);
    expect(chooseArchive(index(patch(9), patch(10), patch('99-rc.0')))?.version).to.equal(patch(10));
  });

  it('ignores other minor versions and other platforms', () => {
    expect(chooseArchive(index(`v${major}.${Number(minor) + 1}.0`, `v${major}.${minor}0.1`))).to.equal(undefined);
    expect(chooseArchive({ releases: { [KUBERNETES_VERSION]: entry(KUBERNETES_VERSION, 'plan9-mips') } })).to.equal(
      undefined,
    );
  });

  it('returns undefined for an invalid index', () => {
    for (const invalid of [
      undefined,
      null,
      'not found',
      404,
      {},
      { releases: null },
      { releases: { [KUBERNETES_VERSION]: 1 } },
    ]) {
      expect(chooseArchive(invalid)).to.equal(undefined);
    }
  });
});
