import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { ASSIGNMENTS } from '../../hack/build/node-flags.ts';
import { renderKustomization } from '../../hack/release/kustomize.ts';
import { MANAGER_ACCOUNT } from '../envtest/control-plane/pool.ts';
import { freePorts } from '../envtest/control-plane/ports.ts';
import type { ServerProcess } from '../envtest/control-plane/process.ts';
import { eventually } from '../support/eventually.ts';
import { type World, AWS_KEY, fargateProfile, startWorld } from '../world/world.ts';
import { ImageLayout } from './oci.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RUN = fileURLToPath(new URL('run.sh', import.meta.url));
const VERSION = 'v0.1.0';
const USER = 65_532;
const SERVICE_ACCOUNT = 'var/run/secrets/kubernetes.io/serviceaccount';
/**
 * The number of each architecture at byte 18 of an ELF file:
 * https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
 */
const ELF_MACHINES: Readonly<Record<string, number>> = { amd64: 0x3e, arm64: 0xb7 };
const NATIVE = process.arch === 'arm64' ? 'arm64' : 'amd64';

interface Manifest {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

interface Container {
  readonly args: readonly string[];
}

describe('the image of the manager', () => {
  let directory: string;
  let layout: ImageLayout;

  function build(name: string, env: NodeJS.ProcessEnv = {}): Buffer {
    const out = join(directory, name);
    const args = ['registry.example.com/capaf', out, VERSION];
    execFileSync(join(ROOT, 'hack/image.sh'), args, { env: { ...process.env, ...env } });
    return readFileSync(out);
  }

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'capaf-image-test-'));
    build('first.tar');
    layout = new ImageLayout(join(directory, 'first.tar'), join(directory, 'layout'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  it('is byte-for-byte identical when it is rebuilt in another directory and time zone', () => {
    const elsewhere = join(directory, 'elsewhere');
    mkdirSync(elsewhere);
    const second = build('second.tar', { TMPDIR: elsewhere, TZ: 'Asia/Tokyo', LC_ALL: 'C' });
    expect(second.equals(readFileSync(join(directory, 'first.tar')))).to.equal(true);
  });

  it('is for amd64 and arm64, and has one layer of this project above Debian and Node.js', () => {
    const images = layout.images();
    expect(images.map(({ architecture }) => architecture)).to.deep.equal(['amd64', 'arm64']);
    const [amd64, arm64] = images.map(({ layers }) => layers.map(({ digest }) => digest));
    expect(amd64).to.have.length(2);
    expect(arm64?.[1], 'the layer of the manager').to.equal(amd64?.[1]);
    expect(arm64?.[0], 'the layer below').to.not.equal(amd64?.[0]);
    for (const image of images) {
      const root = join(directory, image.architecture);
      layout.unpack(image, root);
      const header = Buffer.alloc(20);
      const file = openSync(join(root, 'usr/bin/node'), 'r');
      readSync(file, header);
      closeSync(file);
      expect(header.readUInt16LE(18), image.architecture).to.equal(ELF_MACHINES[image.architecture]);
      expect(image.config.User).to.equal(`${USER}:${USER}`);
      expect(image.config.Env).to.include.members(ASSIGNMENTS);
    }
  });

  it('contains no files that group or others can write, and no setuid or setgid programs', () => {
    const root = join(directory, 'amd64');
    const find = (...tests: readonly string[]): string =>
      execFileSync('find', [root, '!', '-type', 'l', ...tests], { encoding: 'utf8' });
    expect(find('-perm', '/022')).to.equal('');
    expect(find('-perm', '/7000')).to.equal('');
  });

  describe('on a read-only root, as user 65532 without capabilities, in namespaces of its own', () => {
    let world: World;
    let isStarted = false;
    let manager: ServerProcess;
    let child: number;

    before(async function () {
      if (process.platform !== 'linux' || process.getuid?.() !== 0) {
        console.error(`SKIPPED "${this.test?.parent?.fullTitle()}": it needs root on Linux`);
        this.skip();
      }
      world = await startWorld();
      isStarted = true;
      const applied = await world.kubectl(['apply', '-k', join(ROOT, 'config/default')]);
      expect(applied.code, applied.stderr).to.equal(0);
      const root = join(directory, NATIVE);
      const image = layout.images().find(({ architecture }) => architecture === NATIVE);
      const entrypoint = image?.config.Entrypoint ?? [];
      await mountServiceAccount(root);
      manager = await world.controlPlane.run({
        name: 'manager',
        file: 'unshare',
        // prettier-ignore
        args: [
          '--mount', '--pid', '--fork', '--ipc', '--uts', '--cgroup', '--kill-child',
          'sh', RUN, root, ...variables(), ...(image?.config.Env ?? []), '--', ...entrypoint, ...(await argumentsOfDeployment()),
        ],
      });
      child = await eventually(
        () => Number(readFileSync(`/proc/${manager.pid}/task/${manager.pid}/children`, 'utf8').trim()) || false,
        { what: 'the start of the manager' },
      );
    });
    after(() => (isStarted ? world.stop() : undefined));

    /**
     * Writes the service account files that a kubelet mounts into a pod: the token, the CA certificate, and the
     * namespace.
     */
    async function mountServiceAccount(root: string): Promise<void> {
      const { token } = world.controlPlane.user(MANAGER_ACCOUNT);
      mkdirSync(join(root, SERVICE_ACCOUNT), { recursive: true });
      const files = { token, 'ca.crt': readFileSync(world.controlPlane.caPath), namespace: 'capaf-system' };
      for (const [name, content] of Object.entries(files)) {
        const path = join(root, SERVICE_ACCOUNT, name);
        writeFileSync(path, content, { mode: 0o600 });
        chownSync(path, USER, USER);
      }
    }

    const variables = (): readonly string[] => [
      'KUBERNETES_SERVICE_HOST=127.0.0.1',
      `KUBERNETES_SERVICE_PORT=${new URL(world.controlPlane.url).port}`,
      `AWS_ENDPOINT_URL=${world.awsUrl}`,
      `AWS_ACCESS_KEY_ID=${AWS_KEY}`,
      'AWS_SECRET_ACCESS_KEY=secret',
      'AWS_REGION=us-east-1',
    ];

    /**
     * Returns the manager's arguments in the manifest of its Deployment, but with free ports, because other tests may
     * use the original ones.
     */
    async function argumentsOfDeployment(): Promise<readonly string[]> {
      const text = renderKustomization(world.controlPlane.kubectlPath, join(ROOT, 'config/default'));
      const [container] = parseAllDocuments(text)
        .map((document) => document.toJS() as Manifest)
        .flatMap(({ kind, spec }) => (kind === 'Deployment' ? spec.template.spec.containers : []));
      const [health, diagnostics] = await freePorts(2);
      const ports = [`--health-addr=127.0.0.1:${health}`, `--diagnostics-address=127.0.0.1:${diagnostics}`];
      return [...(container?.args ?? []), ...ports];
    }

    it('becomes the leader with the service account from the manifests', async () => {
      const lease = '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases/capaf-leader-election';
      await eventually(
        async () => {
          if (manager.exit() !== undefined) throw new Error(manager.tail());
          return world.controlPlane.api.exists(lease);
        },
        { what: 'the Lease' },
      );
      const status = readFileSync(`/proc/${child}/status`, 'utf8');
      expect(status).to.match(new RegExp(`^Uid:\\s+${USER}\\s+${USER}\\s`, 'm'));
      expect(status).to.match(/^Groups:[ \t]*$/m);
      expect(status).to.match(/^CapEff:\s+0+$/m);
      expect(status).to.match(/^NoNewPrivs:\s+1$/m);
      expect(readFileSync(`/proc/${child}/mountinfo`, 'utf8')).to.match(/ \/ ro,/);
    });

    it('creates and deletes a profile', async () => {
      await world.createEksCluster('prod');
      await world.apply(fargateProfile('web'));
      await world.ready('web');
      await world.delete('web');
      await world.gone('web');
    });

    it('contains capaf, which runs with the Node.js in the image', () => {
      const run = ['/usr/bin/node', '/capaf.mjs', 'version'];
      const args = ['--mount', '--pid', '--fork', 'sh', RUN, join(directory, NATIVE), '--', ...run];
      expect(execFileSync('unshare', args, { encoding: 'utf8' })).to.equal(`${VERSION}\n`);
    });

    it('stops cleanly on SIGTERM', async () => {
      process.kill(child, 'SIGTERM');
      expect(await manager.exited, manager.tail()).to.deep.equal({ code: 0, signal: null });
      expect(manager.log())
        .to.contain('"Stopping"')
        .and.to.not.match(/^[WE]\d{4} |^warning/im);
    });
  });
});

describe('the executables of capaf', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'capaf-executables-test-'));
    execFileSync(process.execPath, [
      join(ROOT, 'hack/build.ts'),
      '--out',
      join(directory, 'build'),
      '--version',
      VERSION,
    ]);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  function make(name: string, env: NodeJS.ProcessEnv = {}): (architecture: string) => Buffer {
    const out = join(directory, name);
    mkdirSync(out);
    const args = [join(directory, 'build'), out, VERSION];
    execFileSync(join(ROOT, 'hack/release/executables.sh'), args, { env: { ...process.env, ...env }, stdio: 'pipe' });
    return (architecture) => readFileSync(join(out, `kubectl-fargate_${VERSION}_linux_${architecture}.tar.gz`));
  }

  it('are byte for byte the same when they are made again, and run without Node.js', () => {
    const first = make('first');
    const second = make('second', { TZ: 'Asia/Tokyo', LC_ALL: 'C' });
    for (const architecture of ['amd64', 'arm64'])
      expect(first(architecture).equals(second(architecture)), architecture).to.equal(true);
    execFileSync('tar', ['--extract', '--gzip', '--directory', directory], { input: first(NATIVE) });
    const run = (...args: readonly string[]): string =>
      execFileSync(join(directory, 'kubectl-fargate'), args, { encoding: 'utf8', env: {} });
    expect(run('version')).to.equal(`${VERSION}\n`);
    expect(run('explain', 'pod', '--help')).to.contain('capaf explain pod -f deployment.yaml --cluster prod');
    expect(execFileSync('ls', [directory], { encoding: 'utf8' })).to.match(
      /^LICENSE\nNODE-LICENSE.txt\nTHIRD-PARTY-NOTICES.txt$/m,
    );
  });
});
