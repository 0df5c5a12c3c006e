import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { parse, parseAllDocuments } from 'yaml';
import { KEIKO_FINALIZER } from '../../../api/external/index.ts';
import { parseFlags } from '../../../cmd/manager/flags.ts';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { CAPA_TRUST, EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { PermissionAudit } from '../../world/manager/permissions.ts';
import { auditPermissions, permissionsOf } from '../../world/manager/permissions.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, OUR_CRD, REGION, startWorld } from '../../world/world.ts';
import { operationsOf } from '../operations.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const COMPONENT = join(ROOT, 'config/components/instance-groups/rbac.yaml');
const KEIKO_CRD = fileURLToPath(new URL('../../crds/keiko/instancegroups.yaml', import.meta.url));
const GROUPS = '/apis/instancemgr.keikoproj.io/v1alpha1/namespaces/default/instancegroups';
const FINALIZER = 'aws-fargate.cluster.x-k8s.io/instancegroup';
const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const SLOW = { timeoutMs: 60_000 };

const GUIDE = readFileSync(join(ROOT, 'docs/keiko.md'), 'utf8').replaceAll(/^ {3}/gm, '');
const blocksOf = (language: string): readonly string[] =>
  [...GUIDE.matchAll(/^```(\w+)\n([^]+?)^```/gm)].flatMap(([, name, block = '']) => (name === language ? [block] : []));
const [KUSTOMIZATION = '', MANIFEST = '', PROFILE_MANIFEST = ''] = blocksOf('yaml');
const SUBNETS = ['subnet-1a2b3c4d', 'subnet-4d3c2b1a', 'subnet-0w9x8y7z'];

interface Group extends RawObject {
  readonly status?: RawObject['status'] & { readonly currentState?: string; readonly message?: string };
}

describe('docs/keiko.md', function () {
  this.timeout(120_000);
  let audit: PermissionAudit;
  let world: World;
  let folder: string;
  const commands = blocksOf('sh').flatMap((block) => block.trimEnd().split('\n'));

  before(async () => {
    audit = await auditPermissions(MANAGER_ACCOUNT);
    world = await startWorld({
      crds: [OUR_CRD],
      users: [{ name: MANAGER_ACCOUNT }],
      // With this plugin, the API server lets only some users set owner references that block the deletion of the
      // owner.
      apiServerArgs: [...audit.apiServerArgs, '--enable-admission-plugins', 'OwnerReferencesPermissionEnforcement'],
    });
    folder = mkdtempSync(join(ROOT, '.tmp/keiko-'));
    await kubectl('apply', '-k', join(ROOT, 'config/rbac'));
    await kubectl('apply', '-f', COMPONENT);
    await kubectl('create', 'namespace', 'instance-manager');
    await kubectl('--namespace=instance-manager', 'create', 'deployment', 'instance-manager', '--image=keiko');
    const { admin } = world.aws;
    const subnets = SUBNETS.map((id) => ({ id }));
    admin.createCluster({ name: 'the-cluster-for-my-pods', region: REGION, subnets });
    admin.createCluster({ name: 'my-cluster', region: REGION });
    admin.putRole({ name: 'MyPodRole', trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });
    await startManager('--instance-groups');
  });
  after(() =>
    endAll(
      () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
      () => world.finish(),
      () => audit.close(),
    ),
  );

  const startManager = (...flags: readonly string[]): Promise<unknown> =>
    world.startManager({
      kubeconfigPath: world.controlPlane.user(MANAGER_ACCOUNT).kubeconfigPath,
      flags: [...flags, `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/*`],
    });

  async function kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await world.kubectl(args);
    expect(code, `kubectl ${args.join(' ')}: ${stderr}`).to.equal(0);
    return stdout;
  }

  /** Runs the next command of the guide, which must contain `text`. Files are those in the folder of the test. */
  async function run(text: string): Promise<string> {
    const command = commands.shift() ?? '';
    expect(command).to.contain(text);
    const words = [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
    return kubectl(
      ...words
        .slice(1)
        .map((word) => (word.startsWith('config/') ? join(ROOT, word) : word))
        .map((word) => (/^[a-z]+\.yaml$/.test(word) ? join(folder, word) : word)),
    );
  }

  /** Writes a file into the folder of the test and returns its path. */
  function file(name: string, content: string): string {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  }

  const apply = (): Promise<string> => kubectl('apply', '--validate=strict', '-f', file('hello.yaml', MANIFEST));
  const find = async (name: string): Promise<Group | undefined> => {
    const { items } = await world.controlPlane.api.list(GROUPS);
    return items.find(({ metadata }) => metadata.name === name);
  };
  const until = (name: string, state: string): Promise<unknown> =>
    eventually(async () => (await find(name))?.status?.currentState === state, { what: `${name} ${state}`, ...SLOW });
  const gone = (name: string): Promise<unknown> =>
    eventually(async () => (await find(name)) === undefined, { what: `the end of ${name}`, ...SLOW });
  const says = (name: string, text: string): Promise<unknown> =>
    eventually(async () => (await find(name))?.status?.message?.includes(text) === true, { what: text, ...SLOW });
  const applyGroup = (name: string, fargate: object, metadata: object = {}): Promise<unknown> =>
    world.controlPlane.api.apply(`${GROUPS}/${name}`, {
      apiVersion: 'instancemgr.keikoproj.io/v1alpha1',
      kind: 'InstanceGroup',
      metadata: { name, namespace: 'default', ...metadata },
      spec: {
        provisioner: 'eks-fargate',
        strategy: { type: 'managed' },
        'eks-fargate': { clusterName: 'my-cluster', selectors: [{ namespace: name }], ...fargate },
      },
    });

  const resources = () => ({ profiles: world.aws.admin.profiles(), roles: world.aws.admin.roles() });
  /** The resources as they are after a take-over by the object. */
  const withOwnerTag = ({ profiles, roles }: ReturnType<typeof resources>, owner: string) => ({
    profiles: profiles.map(({ tags, ...profile }) => ({ ...profile, tags: { ...tags, [OWNER_TAG]: owner } })),
    roles,
  });

  /** Creates an InstanceGroup and what keiko makes of it in AWS. */
  async function createAsKeiko(name: string, profileName: string): Promise<void> {
    const { admin } = world.aws;
    const roleName = `${profileName}-role`;
    const { arn } = admin.putRole({ name: roleName, trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });
    admin.putProfile({
      cluster: 'my-cluster',
      name: profileName,
      podExecutionRoleArn: arn,
      selectors: [{ namespace: name, labels: {} }],
    });
    await applyGroup(name, {}, { finalizers: [KEIKO_FINALIZER] });
    await world.controlPlane.api.patch(`${GROUPS}/${name}/status`, { status: { currentState: 'Error' } });
  }

  it('has a kustomization whose flags the manager accepts', () => {
    const overlay = mkdtempSync(join(ROOT, '.tmp/keiko-overlay-'));
    try {
      const kustomization = KUSTOMIZATION.replaceAll(
        /- (config\/\S+)/g,
        (_, path: string) => `- ${relative(overlay, join(ROOT, path))}`,
      );
      writeFileSync(join(overlay, 'kustomization.yaml'), kustomization);
      const rendered = parseAllDocuments(renderKustomization(world.controlPlane.kubectlPath, overlay)).map(
        (document) =>
          document.toJS() as { kind: string; spec: { template: { spec: { containers: { args: string[] }[] } } } },
      );
      const { args } = rendered.find(({ kind }) => kind === 'Deployment')?.spec.template.spec.containers[0] ?? {
        args: [],
      };
      expect(args).to.include('--instance-groups=true');
      expect(parseFlags(args)).to.satisfy(isRight);
    } finally {
      rmSync(overlay, { recursive: true, force: true });
    }
  });

  it('makes the manifest in the documentation of keiko Ready, after its CRD has come while the manager ran', async () => {
    await run('kubectl apply --server-side -k config/keiko');
    await kubectl(
      'wait',
      '--for=condition=Established',
      '--timeout=30s',
      'crd/instancegroups.instancemgr.keikoproj.io',
    );
    expect(await apply()).to.equal('instancegroup.instancemgr.keikoproj.io/hello-world created\n');
    await run('kubectl wait instancegroup/hello-world');
    const labels = { key1: 'value1', key2: 'value2' };
    const [profile] = world.aws.admin.profiles();
    expect(profile).to.deep.include({
      status: 'ACTIVE',
      cluster: 'the-cluster-for-my-pods',
      podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/MyPodRole`,
      subnets: SUBNETS,
      selectors: [
        { namespace: 'namespace1', labels },
        { namespace: 'namespace2', labels },
      ],
      tags: { ...labels, [OWNER_TAG]: 'default/hello-world' },
    });
    const { metadata } = (await find('hello-world')) ?? expect.fail('the group is gone');
    expect(metadata.finalizers).to.deep.equal([FINALIZER]);
  });

  it('says Error after a change that EKS cannot make, and the profile stays', async () => {
    const before = world.aws.admin.profiles();
    await kubectl('apply', '-f', file('changed.yaml', MANIFEST.replaceAll('namespace2:', 'namespace3:')));
    await until('hello-world', 'Error');
    const { message = '' } = (await find('hello-world'))?.status ?? {};
    expect(message).to.match(/^spec\.eks-fargate\.selectors: .*immutable.*Undo the change of the InstanceGroup/s);
    await world.event('hello-world', 'Warning ChangeRefused: spec.eks-fargate.selectors');
    expect(world.aws.admin.profiles()).to.deep.equal(before);
    await apply();
    await until('hello-world', 'Ready');
    expect(world.aws.admin.profiles()).to.deep.equal(before);
  });

  it('deletes the group after its profile', async () => {
    await kubectl('delete', 'instancegroup', 'hello-world', '--wait=false');
    await gone('hello-world');
    expect(world.aws.admin.profiles()).to.deep.equal([]);
    expect(await world.profile('hello-world')).to.equal(undefined);
  });

  it('refuses other provisioners, and says which fields are wrong', async () => {
    const refused = await world.kubectl(['apply', '-f', '-'], MANIFEST.replace('eks-fargate', 'eks'));
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain('spec.provisioner: Invalid value').and.contain("apply the CRD of keiko's");
    await applyGroup('wrong', { selectors: [{ namespace: 'web', app: 'x' }] });
    await says('wrong', 'spec.eks-fargate.selectors[0]: expected namespace');
    await applyGroup('wrong', { selectors: [{ namespace: 'two words' }] });
    await says('wrong', 'spec.eks-fargate.selectors[0].namespace: Invalid value: "two words"');
    await world.controlPlane.api.delete(`${GROUPS}/wrong`);
    await gone('wrong');
  });

  it('serves groups under the CRD of keiko, which refuses the spelling in the documentation', async () => {
    await applyCrds(world.controlPlane.api, KEIKO_CRD);
    const refused = await world.kubectl(['apply', '--validate=false', '-f', '-'], MANIFEST);
    expect(refused.stderr).to.contain('spec.eks-fargate.selectors[0].namespace: Required value');
    await applyGroup('strict', { tags: [{ Team: 'a' }, { Env: 'b' }] });
    await until('strict', 'Ready');
    await world.event('strict', 'Normal Ready: AWSFargateProfile default/strict');
    expect(world.aws.admin.profiles()[0]?.tags).to.include({ Team: 'a', Env: 'b' });
    expect((await find('strict'))?.status).to.deep.equal({ currentState: 'Ready' });
    await applyGroup('strict', { selectors: [{ namespace: 'other' }] });
    await world.event('strict', 'Warning ChangeRefused: spec.eks-fargate.selectors');
    await world.controlPlane.api.delete(`${GROUPS}/strict`);
    await gone('strict');
  });

  it('takes over what keiko has made', async () => {
    await world.stopManager();
    await createAsKeiko('shop', 'fargate-my-cluster-10792580908926203815');
    const before = resources();
    const calls = callsFromNow(world.aws);
    await run('scale deployment instance-manager --replicas=0');
    await startManager('--instance-groups');
    await until('shop', 'Ready');
    expect(await run('get instancegroups')).to.match(/^default +shop +Ready/m);
    await world.event('shop', 'Normal RoleKept: IAM role fargate-my-cluster-10792580908926203815-role existed before');
    expect(await run('get events')).to.contain('RoleKept');
    expect(resources()).to.deep.equal(withOwnerTag(before, 'default/shop'));
    expect(operationsOf(calls)).to.deep.equal(['TagResource']);
    await world.controlPlane.api.delete(`${GROUPS}/shop`);
    await gone('shop');
    expect(resources()).to.deep.equal({ profiles: [], roles: before.roles });
  });

  it('makes an AWSFargateProfile of a group while keiko is stopped', async () => {
    await world.stopManager();
    await startManager();
    const { metadata, spec } = parse(PROFILE_MANIFEST) as RawObject;
    await createAsKeiko(metadata.name, String(spec?.['profileName']));
    const before = resources();
    file('batch.yaml', PROFILE_MANIFEST);
    await run('scale deployment instance-manager --replicas=0');
    await run('patch instancegroup batch');
    await run('delete instancegroup batch');
    await run('apply -f batch.yaml');
    await run('wait awsfargateprofile batch');
    await run('scale deployment instance-manager --replicas=1');
    expect(commands).to.deep.equal([]);
    expect(resources()).to.deep.equal(withOwnerTag(before, 'default/batch'));
    await world.delete('batch');
    await world.gone('batch');
  });

  it('uses all permissions of its component, and needs no other', async () => {
    const rules = parseAllDocuments(readFileSync(COMPONENT, 'utf8')).flatMap(
      (document) => (document.toJS() as { rules?: Parameters<typeof permissionsOf>[0] }).rules ?? [],
    );
    const used = await audit.used();
    expect(permissionsOf(rules).filter((each) => !used.has(each))).to.deep.equal([]);
    expect(await audit.forbidden()).to.deep.equal([]);
  });
});
