import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { takeBlocks } from '../../docs/blocks.ts';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A part of the last line that a demo prints before it waits for Ctrl-C. */
const STAYING = 'Ctrl-C ends everything';

interface RunningDemo {
  /** The value of TMPDIR for the demo, so that all temporary files of the demo are in this folder. */
  readonly folder: string;
  readonly exited: Promise<number | NodeJS.Signals | null>;
  /** Returns the text that the demo has printed so far to stdout and stderr. */
  readonly text: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
}

const MAIN = [process.execPath, 'tools/demo/main.ts'] as const;

async function startDemo(
  env: Readonly<Record<string, string>> = {},
  [file, ...args]: readonly [string, ...string[]] = MAIN,
): Promise<RunningDemo> {
  const folder = await mkdtemp(join(tmpdir(), 'capaf-demo-test-'));
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ONCE: '', TEARDOWN: '', KEIKO: '', REPLACE: '', TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  return { folder, exited, text: () => text, kill: (signal) => void child.kill(signal) };
}

interface Process {
  readonly pid: number;
  readonly command: string;
}

/** Returns all running processes whose command line contains `text`. */
async function processesWith(text: string): Promise<readonly Process[]> {
  const all = process.platform === 'linux' ? await linuxProcesses() : await posixProcesses();
  return all.filter(({ command }) => command.includes(text));
}

async function linuxProcesses(): Promise<readonly Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => ({
      pid: Number(pid),
      // A process that has exited since the list of process ids was read has no file /proc/<pid>/cmdline.
      command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    })),
  );
}

async function posixProcesses(): Promise<readonly Process[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,args=']);
  return stdout.split('\n').map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
}

const urlsIn = (text: string): readonly string[] => text.match(/https?:\/\/127\.0\.0\.1:\d+/g) ?? [];

/**
 * Expects that no process and no file of the demo is left. The test finds processes of the demo by the demo's folder in
 * their command lines. The command line of the AWS emulator does not contain the folder, so the test checks that the
 * emulator's URL no longer answers.
 */
async function expectNothingLeft({ folder, text }: RunningDemo): Promise<void> {
  await eventually(async () => expect(await processesWith(folder)).to.deep.equal([]));
  await eventually(async () => expect(await readdir(folder)).to.deep.equal([]));
  for (const url of urlsIn(text())) {
    const answer = await fetch(url).then(
      () => 'an answer',
      () => 'none',
    );
    expect(answer, url).to.equal('none');
  }
}

/**
 * Runs the suggested `capaf explain pod` after the suggested setup, as a user does in a new terminal: in another
 * folder, with a PATH that has no Node.js. capaf exits with 2 if the profile has been ACTIVE for less than 30 seconds.
 */
async function runSuggestedCapaf(text: string): Promise<string> {
  const [, suggestions = ''] = text.split('Try these commands in another terminal\n');
  const [setUp = ''] = suggestions.split('\n\n');
  const command = suggestions.split('\n').find((line) => line.includes('capaf explain pod')) ?? '';
  const script = ['shopt -s expand_aliases', setUp, `${command} || [ $? = 2 ]`].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], {
    cwd: tmpdir(),
    env: { PATH: '/bin' },
  });
  return stdout;
}

function expectInOrder(text: string, patterns: readonly RegExp[]): void {
  const lines = text.split('\n');
  let from = 0;
  for (const pattern of patterns) {
    const found = lines.findIndex((line, index) => index >= from && pattern.test(line));
    expect(found, `${String(pattern)} after line ${from} of\n${text}`).to.be.at.least(from);
    from = found + 1;
  }
}

describe('the demo', () => {
  let demo: RunningDemo;

  afterEach(async () => {
    demo.kill('SIGKILL');
    await demo.exited;
    await rm(demo.folder, { recursive: true, force: true });
  });
  const readme = takeBlocks('README.md', import.meta.url);

  it('shows the creation and deletion of a profile and exits with 0', async () => {
    // With ONCE=1 the demo ends without Ctrl-C.
    const command = readme.next('make demo');
    demo = await startDemo({ ONCE: '1', MAKEFLAGS: '' }, ['bash', '-euc', command]);
    expect(await demo.exited, demo.text()).to.equal(0);

    expectInOrder(demo.text(), [
      /^ {2}Kubernetes API server v1\.\d+\.\d+ +https:\/\/127\.0\.0\.1:\d+$/,
      /^ {2}Emulated EKS, IAM and STS +http:\/\/127\.0\.0\.1:\d+$/,
      /^\$ kubectl apply -f config\/samples$/,
      /^awsfargateprofile\.infrastructure\.cluster\.x-k8s\.io\/web created$/,
      /^ +\d+\.\d s {2}web {2}Ready +False +Creating: /,
      /^ +\d+\.\d s {2}web {2}Ready +True /,
      /^ {2}Fargate profile +default_web$/,
      /^ +status +ACTIVE$/,
      /^ +sigs\.k8s\.io\/cluster-api-provider-aws-fargate\/owner = default\/web$/,
      /^ {2}IAM role +my-cluster-default_web_fargate$/,
      /^\$ kubectl describe awsfargateprofiles$/,
      /^Events:$/,
      /Normal +SuccessfulCreateEKSFargateProfile /,
      /^\$ kubectl delete -f config\/samples --wait=false$/,
      /^ +\d+\.\d s {2}web {2}Deleting +True /,
      /^ +\d+\.\d s {2}web {2}The object is deleted$/,
      /^ {2}Fargate profiles +none$/,
      /^ {2}IAM roles +none$/,
      /^No resources found in default namespace\.$/,
      /^The demo succeeded after \d+\.\d s\.$/,
    ]);
    expect(demo.text(), 'escape sequences').not.to.contain('\u001B');
    await expectNothingLeft(demo);
  });

  it('shows how the InstanceGroup in the documentation of keiko becomes Ready and is deleted, and exits with 0', async () => {
    demo = await startDemo({ ONCE: '1', KEIKO: '1' });
    expect(await demo.exited, demo.text()).to.equal(0);
    expectInOrder(demo.text(), [
      /^\$ kubectl apply --server-side -k config\/keiko$/,
      /^\$ kubectl apply -f tools\/demo\/instance-group\.yaml$/,
      /^ +\d+\.\d s {2}InstanceGroup hello-world +has the state ReconcileModifying$/,
      /^ +\d+\.\d s {2}InstanceGroup hello-world +has the state Ready$/,
      /^ {2}Fargate profile +fargate-the-cluster-for-my-pods-6341909053218016865$/,
      /^ +role +arn:aws:iam::123456789012:role\/MyPodRole$/,
      /^\$ kubectl delete -f tools\/demo\/instance-group\.yaml --wait=false$/,
      /^ +\d+\.\d s {2}AWSFargateProfile hello-world +is gone$/,
      /^ +\d+\.\d s {2}InstanceGroup hello-world +is gone$/,
      /^ {2}Fargate profiles +none$/,
      /^The demo succeeded after \d+\.\d s\.$/,
    ]);
    await expectNothingLeft(demo);
  });

  it('shows that the pods of a replaced profile move, and exits with 0', async () => {
    demo = await startDemo({ ONCE: '1', REPLACE: '1' });
    expect(await demo.exited, demo.text()).to.equal(0);
    const patch = /^\$ kubectl patch awsfp web --type=merge .*"drainTimeout":"2m"/;
    expectInOrder(demo.text(), [
      patch,
      /^ +\d+\.\d s .*False +Replacing/,
      /^ +\d+\.\d s .*True +PredecessorKept/,
      /^ +\d+\.\d s .*True +Draining/,
      /^ +\d+\.\d s .*True +RemovingPredecessor/,
    ]);
    // The controller reports Draining after its first evictions, so a new pod can be Ready before.
    expectInOrder(demo.text(), [
      /^ {2}3 of 3 pods are Ready: 3 on default_web$/,
      patch,
      /^ {2}3 of 3 pods are Ready: 1 on 9999-default_web, 2 on default_web$/,
      /^ {2}3 of 3 pods are Ready: 3 on 9999-default_web$/,
      /^At least 2 pods were Ready at any time, as the PodDisruptionBudget demands\.$/,
      /^The demo succeeded after \d+\.\d s\.$/,
    ]);
    await expectNothingLeft(demo);
  });

  it('shows the teardown of a cluster with three profiles and exits with 0', async function () {
    await resolveBinaries(['cluster-api-manager', 'kube-controller-manager']).catch(skipIfBinariesMissing(this));
    demo = await startDemo({ TEARDOWN: '1' });
    expect(await demo.exited, demo.text()).to.equal(0);
    expectInOrder(demo.text(), [
      /^ {2}Cluster API's core manager v1\.\d+\.\d+ +real process$/,
      /^\$ kubectl apply -f tools\/demo\/three-profiles\.yaml$/,
      /^\$ kubectl delete cluster my-cluster --wait=false$/,
      /^ +\d+\.\d s {2}Cluster my-cluster +is being deleted; has finalizers of Cluster API$/,
      /^ +\d+\.\d s {2}AWSManagedControlPlane my-cluster-control-plane +has lost the finalizer of this provider$/,
      /^ +\d+\.\d s {2}AWSManagedControlPlane my-cluster-control-plane +is gone$/,
      /^ +\d+\.\d s {2}Cluster my-cluster +is gone$/,
      /^No resources found in default namespace\.$/,
      /^ {2}in AWS: no EKS cluster, no Fargate profile, no IAM role of the profiles$/,
      /^The demo succeeded after \d+\.\d s\.$/,
    ]);
    const [, goingAway = ''] = demo.text().split('$ kubectl delete cluster');
    const [beforeItLetsGo = ''] = goingAway.split('has lost the finalizer of this provider');
    expect(beforeItLetsGo.match(/AWSFargateProfile \w+ +is gone/g), demo.text()).to.have.length(3);
    expect(demo.text()).to.match(/AWS provider +EKS refuses to delete the cluster: Cluster has Fargate Profiles/);
    await expectNothingLeft(demo);
  });

  it('runs until Ctrl-C, prints commands to try, and leaves nothing behind', async () => {
    demo = await startDemo();
    await eventually(() => demo.text().includes(STAYING));
    expect(demo.text()).to.match(/^ {2}export KUBECONFIG=.*\.kubeconfig$/m);
    const suggested = await runSuggestedCapaf(demo.text());
    expect(suggested).to.match(/^Fargate profile "default_web" takes Pod web-shop\/front\.$/m);
    expect(await processesWith(demo.folder)).to.have.length(4); // etcd, kube-apiserver, the manager and the watchdog
    expect(urlsIn(demo.text())).not.to.deep.equal([]);

    demo.kill('SIGINT');
    expect(await demo.exited).to.equal(0);
    expect(demo.text()).to.match(/^All processes are stopped, and their files are removed\.$/m);
    await expectNothingLeft(demo);
  });

  it('leaves nothing behind after an interrupt during the demo', async () => {
    demo = await startDemo();
    await eventually(() => demo.text().includes('Emulated EKS'));
    demo.kill('SIGINT');
    expect(await demo.exited).to.equal(130);
    await expectNothingLeft(demo);
  });

  it('fails with the reason when the manager ends, and leaves nothing behind', async () => {
    demo = await startDemo({ ONCE: '1' });
    await eventually(() => demo.text().includes('created'));
    const managers = (await processesWith(demo.folder)).filter(({ command }) => command.includes('manager.mjs'));
    expect(managers).to.have.length(1);
    for (const { pid } of managers) process.kill(pid, 'SIGKILL');
    expect(await demo.exited).to.equal(1);
    expect(demo.text()).to.match(/^The demo failed: the manager ended with SIGKILL\nThe end of the manager's log:\n/m);
    await expectNothingLeft(demo);
  });
});
