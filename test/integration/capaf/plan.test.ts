import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { blocksOf, takeBlocks } from '../../docs/blocks.ts';
import { expectGolden } from '../../support/golden.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { ACCOUNT, REGION, clusterPath, controlPlanePath, fargateProfile, useWorld } from '../../world/world.ts';
import { runCapaf } from './run-capaf.ts';

const golden = (name: string): URL => new URL(`golden/${name}.golden`, import.meta.url);
const manifest = (...objects: readonly object[]): string => objects.map((each) => stringify(each)).join('---\n');

/** Replaces subnet ids, which differ between runs, with a placeholder. */
const withoutIds = (text: string): string => text.replaceAll(/subnet-[0-9a-f]{17}/g, '<subnet>');

const PAUSED = 'cluster.x-k8s.io/paused';
const WEB = fargateProfile('web', { updateStrategy: { type: 'Replace' }, additionalTags: { team: 'a' } });

/** The regions that have an EKS cluster with the name `twin`. */
const TWIN_REGIONS = [REGION, 'eu-west-1'];

describe('capaf plan', () => {
  const world = useWorld();
  before(async () => {
    await world.startManager({
      flags: TWIN_REGIONS.map((region) => `--allow-eks-cluster=default=${ACCOUNT}/${region}/twin`),
    });
    await world.createEksCluster('prod');
    await world.apply(WEB);
    await world.ready('web');
  });
  const page = takeBlocks('docs/cli.md', import.meta.url);

  /** The state of everything that a plan must not change. */
  const state = async (): Promise<unknown> => ({
    object: await world.profile('web'),
    controlPlane: await world.controlPlane.api.get(controlPlanePath('prod')),
    calls: world.aws.admin.calls({ mutates: true }).length,
  });

  it('lists the changes for unapplied manifests in order, with what they wait for', async () => {
    const before = await state();
    const changed = fargateProfile('web', {
      updateStrategy: { type: 'Replace' },
      selectors: [{ namespace: 'shop' }],
      additionalTags: { team: 'b' },
    });
    const added = fargateProfile('jobs', { selectors: [{ namespace: 'jobs' }, { namespace: 'sh*' }] });
    const { code, stdout, stderr } = await runCapaf(world, ['plan', '-f', '-'], { stdin: manifest(added, changed) });
    expect(code, stderr).to.equal(2);
    expectGolden(golden('plan-changes'), withoutIds(stdout));
    expect(await state()).to.deep.equal(before);
  });

  it('describes a replacement as docs/cli.md does', async () => {
    const [, ...args] = page.next('capaf plan').trim().split(' ');
    const changed = fargateProfile('web', {
      updateStrategy: { type: 'Replace' },
      selectors: [{ namespace: 'shop' }],
      additionalTags: { team: 'b' },
    });
    const { stdout, stderr } = await runCapaf(world, args, { stdin: manifest(changed) });
    const [plan, note] = stdout.split('\n\nNote ');
    expect(note, stderr).to.match(/^The flags of the manager are not known/);
    const shown = blocksOf('docs/cli.md').find(({ text }) => text.startsWith('Plan for 1'));
    expect(withoutIds(`${plan}\n`)).to.equal(withoutIds(`${shown?.text.trimEnd()}\n`));
  });

  const refused: readonly (readonly [what: string, object: object, message: RegExp])[] = [
    [
      'a field that the schema does not have',
      fargateProfile('typo', { selector: [{ namespace: 'a' }] }),
      /^capaf: standard input:1: the API server refuses default\/typo: .*unknown field "spec\.selector"/,
    ],
    [
      'a change that the API server refuses',
      fargateProfile('web', { clusterName: 'other' }),
      /^capaf: standard input:1: the API server refuses default\/web: .*clusterName is immutable/,
    ],
  ];
  for (const [what, object, message] of refused)
    it(`ends with an error that names the manifest, for ${what}`, async () => {
      const { code, stderr, stdout } = await runCapaf(world, ['plan', '-f', '-'], { stdin: manifest(object) });
      expect(stderr).to.match(message);
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    });

  it('reports WrongAccount with credentials for another account', async () => {
    const { accessKeyId } = world.aws.admin.registerKey({ account: '210987654321' });
    const env = { AWS_ACCESS_KEY_ID: accessKeyId };
    const { code, stdout } = await runCapaf(world, ['plan', '-f', '-'], { env, stdin: manifest(WEB) });
    expect(code).to.equal(2);
    expect(stdout).to.contain(
      'then Ready Unknown, WrongAccount: the object is of AWS account 123456789012, and the credentials are of 210987654321, so nothing is known. Use --profile or --role-arn with credentials of account 123456789012.',
    );
  });

  it('ends with an error that says what to do when AWS rejects the credentials', async () => {
    const env = { AWS_ACCESS_KEY_ID: 'wrong' };
    const { code, stderr } = await runCapaf(world, ['plan', '-f', '-'], { env, stdin: manifest(WEB) });
    expect(code).to.equal(1);
    expect(stderr).to.match(/^capaf: there is no plan without AWS: /);
  });

  it('plans all objects of a namespace as they are, or those with the names given', async () => {
    const all = await runCapaf(world, ['plan', '-o', 'json']);
    expect(all.code, all.stderr).to.equal(0);
    const { version, objects } = JSON.parse(all.stdout) as { version: number; objects: readonly object[] };
    expect(version).to.equal(1);
    expect(objects).to.have.length(1);
    const then = { ready: 'True', reason: 'Ready', message: 'The Fargate profile is ACTIVE and matches the spec' };
    expect(objects[0]).to.deep.include({ namespace: 'default', name: 'web', changes: [], then, pausedBy: [] });
    expect((await runCapaf(world, ['plan', 'web', '-n', 'default'])).stdout).to.contain(
      'AWSFargateProfile: no changes',
    );
    expect((await runCapaf(world, ['plan', '-A'])).stdout).to.contain('default/web');
  });

  it('predicts that 65 new profiles become Ready, and lists the profiles in AWS only once', async () => {
    const calls = callsFromNow(world.aws);
    const many = Array.from({ length: 65 }, (_, index) => fargateProfile(`many-${index}`));
    const { stdout, stderr } = await runCapaf(world, ['plan', '-f', '-', '-o', 'json'], { stdin: manifest(...many) });
    const { objects } = JSON.parse(stdout) as { objects: readonly { end: { ready: string } }[] };
    expect(objects.filter(({ end }) => end.ready === 'True').length, stderr).to.equal(65);
    const listings = calls.all().filter(({ operation }) => operation === 'ListFargateProfiles');
    expect(listings).to.have.length(1);
  });

  it('plans the deletion of an object, with the pods that EKS stops', async () => {
    const runningOn = (name: string, profile: string, metadata: object = {}): object => {
      const labels = { 'eks.amazonaws.com/fargate-profile': profile };
      const spec = { containers: [{ name: 'main', image: 'nginx' }] };
      return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels, ...metadata }, spec };
    };
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop', uid: 'u', controller: true };
    await world.apply(
      runningOn('shop-1', 'default_web', { ownerReferences: [owner] }),
      runningOn('shop-2', 'default_web', { ownerReferences: [owner] }),
      runningOn('migration', 'default_web'),
      runningOn('done', 'default_web'),
      runningOn('elsewhere', 'default_other'),
    );
    await world.controlPlane.api.patch('/api/v1/namespaces/default/pods/done/status', {
      status: { phase: 'Succeeded' },
    });
    const before = await state();
    const [, ...args] = page.next('capaf plan').trim().split(' ');
    const { kubeconfigPath } = world.controlPlane;
    const { code, stdout, stderr } = await runCapaf(
      world,
      args.map((arg) => (arg === 'prod.kubeconfig' ? kubeconfigPath : arg)),
    );
    expect(code, stderr).to.equal(2);
    const shown = blocksOf('docs/cli.md').find(({ text }) => text.includes('DeleteRole'));
    expect(stdout.split('\n\nNote ')[0]).to.equal(shown?.text.trimEnd());
    expect(await state()).to.deep.equal(before);
  });

  it('makes, as explain pod and status do, the AWS calls that the policy on its page allows', async () => {
    const policy = JSON.parse(page.next('"Version"')) as { Statement: readonly { Action: readonly string[] }[] };
    const { accessKeyId } = world.aws.admin.registerKey({ account: ACCOUNT });
    const env = { AWS_ACCESS_KEY_ID: accessKeyId };
    const replaced = fargateProfile('web', { updateStrategy: { type: 'Replace' }, selectors: [{ namespace: 'shop' }] });
    const pod = {
      kind: 'Pod',
      metadata: { name: 'a', namespace: 'default' },
      spec: { containers: [{ name: 'main' }] },
    };
    const stdin = manifest(replaced, fargateProfile('added'));
    const runs = [
      await runCapaf(world, ['plan', '-f', '-'], { env, stdin }),
      await runCapaf(world, ['plan', '--delete', 'web'], { env }),
      await runCapaf(world, ['explain', 'pod', '-f', '-', '--cluster', 'prod'], { env, stdin: manifest(pod) }),
      await runCapaf(world, ['status'], { env }),
    ];
    for (const { code, stderr } of runs) expect(code, stderr).not.to.equal(1);
    const made = world.aws.log.read({ accessKeyId }).map(({ service, operation }) => `${service}:${operation}`);
    const withPermission = [...new Set(made)].filter((action) => action !== 'sts:GetCallerIdentity');
    expect(withPermission.toSorted()).to.deep.equal(policy.Statement.flatMap(({ Action }) => Action));
  });

  it('says of a retained object that its deletion deletes nothing in AWS', async () => {
    await world.patch('web', { spec: { deletionPolicy: 'Retain' } });
    const { stdout, stderr } = await runCapaf(world, ['plan', '--delete', 'web', '-o', 'json']);
    await world.patch('web', { spec: { deletionPolicy: 'Delete' } });
    const [object] = (JSON.parse(stdout) as { objects: readonly object[] }).objects;
    const message = 'the object is deleted; these changes are the only deletions in AWS';
    expect(object, stderr).to.deep.include({ changes: [], end: { ready: 'False', reason: 'Deleted', message } });
  });

  it('plans a paused object as if the pause were over, and says what pauses it', async () => {
    const generation = Number((await world.profile('web'))?.metadata.generation);
    await world.ready('web', { generation });
    const paused = { ...WEB, metadata: { name: 'web', namespace: 'default', annotations: { [PAUSED]: 'true' } } };
    const stdin = manifest({ ...paused, spec: { ...(WEB as { spec: object }).spec, additionalTags: { team: 'x' } } });
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused: true } });
    const { stdout, stderr, code } = await runCapaf(world, ['plan', '-f', '-'], { stdin });
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused: false } });
    expect(code, stderr).to.equal(2);
    expect(stdout).to.contain(
      `  Paused by its annotation ${PAUSED} and spec.paused of Cluster default/prod. This is the plan for the end of the pause\n`,
    );
    expect(stdout).to.contain('  1. TagRole IAM role').and.to.contain('\n  2. TagResource Fargate profile');
    expect(stdout).to.contain('then Ready True, Ready');
  });

  const mistakes: readonly (readonly [args: string, message: string])[] = [
    [
      'nosuch',
      'there is no AWSFargateProfile default/nosuch; choose the namespace with -n, all with -A, or a --context',
    ],
    [
      '-n empty',
      'there is no AWSFargateProfile in namespace empty; choose the namespace with -n, all with -A, or a --context, or manifests with -f',
    ],
    ['web -f -', 'name objects, or files with -f, but not both'],
    ['web -A', 'the objects with these names are in one namespace; name it with -n instead of -A'],
    ['--delete', '--delete needs the names of the objects, or files with -f'],
  ];
  for (const [args, message] of mistakes)
    it(`ends with an error that says what to do, for plan ${args}`, async () => {
      const { code, stdout, stderr } = await runCapaf(world, ['plan', ...args.split(' ')], { stdin: manifest(WEB) });
      expect({ code, stdout, stderr }).to.deep.equal({ code: 1, stdout: '', stderr: `capaf: ${message}\n` });
    });

  it('predicts what the manager does once the manifest is applied', async () => {
    const changed = fargateProfile('web', { updateStrategy: { type: 'Replace' }, additionalTags: { team: 'c' } });
    const planned = await runCapaf(world, ['plan', '-f', '-', '-o', 'json'], { stdin: manifest(changed) });
    const [{ changes }] = (
      JSON.parse(planned.stdout) as { objects: readonly [{ changes: readonly { operation: string }[] }] }
    ).objects;
    const from = world.aws.admin.calls({ mutates: true }).length;
    await world.patch('web', { spec: { additionalTags: { team: 'c' } } });
    const { generation } = ((await world.profile('web')) ?? expect.fail('web is gone')).metadata;
    await world.ready('web', { generation: Number(generation) });
    const made = world.aws.admin.calls({ mutates: true }).slice(from);
    expect(made.map(({ operation }) => operation)).to.deep.equal(changes.map(({ operation }) => operation));
  });

  it('looks for the pods of an EKS cluster in the region that the object names', async () => {
    const objects = TWIN_REGIONS.map((region) => {
      const { subnets } = world.aws.admin.createCluster({ name: 'twin', region });
      const spec = {
        clusterName: undefined,
        eksCluster: { name: 'twin', region },
        subnetIDs: subnets.slice(0, 2).map(({ id }) => id),
      };
      return fargateProfile(`twin-${region}`, spec);
    });
    await world.apply(...objects);
    for (const region of TWIN_REGIONS) await world.ready(`twin-${region}`);
    // capaf can read the pods of neither cluster: the first API server does not accept EKS tokens, and the second
    // endpoint has no TLS.
    const { url, caPath } = world.controlPlane;
    const certificateAuthority = readFileSync(caPath).toString('base64');
    const endpoints = { [REGION]: url, 'eu-west-1': 'http://10.0.0.1' };
    for (const [region, endpoint] of Object.entries(endpoints))
      world.aws.admin.setCluster({ name: 'twin', region, apiServer: { endpoint, certificateAuthority } });
    const args = ['plan', '--delete', '-f', '-', '--region', 'eu-central-1', '-o', 'json'];
    const { stdout, stderr } = await runCapaf(world, args, { stdin: manifest(...objects) });
    const plan = JSON.parse(stdout) as { objects: readonly object[]; notes: readonly string[] };
    const unknown = plan.notes.filter((note) => note.startsWith('How many pods')).map((note) => note.split('. ')[0]);
    expect(unknown, stderr).to.deep.equal([
      'How many pods EKS stops in EKS cluster twin in us-east-1 is not known: listing pods: Unauthorized',
      'How many pods EKS stops in EKS cluster twin in eu-west-1 is not known: EKS shows no endpoint with a certificate authority for EKS cluster twin',
    ]);
    for (const [index, region] of TWIN_REGIONS.entries())
      expect(plan.objects[index]).to.deep.include({ eksCluster: 'twin', region });
  });

  it('plans in the region and within the limits that the Deployment of the manager has', async () => {
    world.aws.admin.createCluster({ name: 'tools', region: REGION });
    const labels = { 'control-plane': 'capaf-controller-manager' };
    const args = [`--allow-eks-cluster=default=${ACCOUNT}/${REGION}/tools`];
    const container = { name: 'manager', image: 'capaf:dev', args, env: [{ name: 'AWS_REGION', value: REGION }] };
    await world.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'capaf-controller-manager', namespace: 'capaf-system', labels },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    });
    const inEksCluster = (name: string): object =>
      fargateProfile(name, { clusterName: undefined, eksCluster: { name }, subnetIDs: ['subnet-0aaaaaaaaaaaaaaaa'] });
    const stdin = manifest(inEksCluster('tools'), inEksCluster('others'));
    const { stdout } = await runCapaf(world, ['plan', '-f', '-', '--region', 'eu-central-1', '-o', 'json'], { stdin });
    const { objects, notes } = JSON.parse(stdout) as {
      objects: readonly { readonly end: { readonly reason: string } }[];
      notes: readonly string[];
    };
    expect(objects.map(({ end }) => end.reason)).to.deep.equal(['Ready', 'NotAllowedByOperator']);
    expect(notes).to.deep.equal([]);
  });
});
