import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { cacheRoot, resolveBinaries } from './binaries.ts';
import { freePorts } from '../control-plane/ports.ts';
import {
  CLUSTER_API_VERSION,
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
out=; previous=
for argument in "$@"; do [ "$previous" = -o ] && out=$argument; previous=$argument; done
[ -n "$out" ] || out=$GOBIN/\${previous##*/}
out=\${out%@*}
{ echo "$@"; echo "GOOS=$GOOS GOARCH=$GOARCH GOFLAGS=$GOFLAGS GOWORK=$GOWORK CGO_ENABLED=$CGO_ENABLED GOTOOLCHAIN=$GOTOOLCHAIN"; echo "in \${PWD##*/}"; } > "$out"
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

  async function serveArchive(version: string, options: { sha512?: string } = {}): Promise<string> {
    const source = join(directory, 'archive');
    for (const name of NAMES) {
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

  it('builds with Go where it cannot download, and ignores Go settings of the user', async () => {
    await addFakeGo();
    Object.assign(env, {
      GOOS: 'plan9',
      GOARCH: 'mips',
      GOFLAGS: '-mod=vendor',
      GOWORK: '/elsewhere/go.work',
      GOTOOLCHAIN: 'local',
    });
    const paths = await resolve();
    expect(paths.etcd).to.equal(join(cacheRoot(env), `${KUBERNETES_VERSION}-${PLATFORM}`, 'etcd'));
    const [command, environment] = readFileSync(paths['kube-apiserver'], 'utf8').split('\n');
    expect(command).to.contain(`-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`);
    expect(command).to.contain(`-X k8s.io/component-base/version.gitMinor=${minor} `);
    expect(command).to.match(/ \.\/cmd\/kube-apiserver$/);
    expect(environment).to.equal('GOOS= GOARCH= GOFLAGS= GOWORK=off CGO_ENABLED=0 GOTOOLCHAIN=auto');
    expect(await readdir(cacheRoot(env))).to.deep.equal([`${KUBERNETES_VERSION}-${PLATFORM}`]);
  });

  it('builds each program in its own module, and again when a source file of test/gitops has changed', async () => {
    await addFakeGo();
    const names = ['kstatus', 'kustomize-controller', 'oldest-kube-apiserver', 'clusterctl'] as const;
    const paths = await resolveBinaries(names, { env, report, indexUrl: unreachableUrl });
    const built = names.map((name) => readFileSync(paths[name], 'utf8').split('\n'));
    expect(built.map(([, , where]) => where)).to.deep.equal([
      'in gitops',
      'in gitops',
      'in compatibility',
      'in cluster-api',
    ]);
    expect(built[1]?.[0]).to.match(/ github\.com\/fluxcd\/kustomize-controller$/);
    expect(built[2]?.[0]).to.contain(`version.gitVersion=${OLDEST_KUBERNETES_VERSION} `);
    expect(built[3]?.[0]).to.contain(`cluster-api/version.gitVersion=${CLUSTER_API_VERSION} `);
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
});
