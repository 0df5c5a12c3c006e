import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { parse } from 'yaml';
import { KEIKO_FINALIZER } from '../../../api/external/index.ts';
import { parseFlags } from '../../../cmd/manager/flags/parse-flags.ts';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import { ADDED_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { openTerminalInClone } from '../../docs/clone.ts';
import type { Terminal } from '../../docs/terminal.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { CAPA_TRUST, EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { type PermissionAudit, auditPermissions, permissionsOf, rulesIn } from '../../world/manager/permissions.ts';
import { type World, ACCOUNT, OUR_CRD, REGION, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const COMPONENT = fileURLToPath(new URL('../../../config/components/instance-groups/rbac.yaml', import.meta.url));
const KEIKO_CRD = fileURLToPath(new URL('../../crds/keiko/instancegroups.yaml', import.meta.url));
const GROUPS = '/apis/instancemgr.keikoproj.io/v1alpha1/namespaces/default/instancegroups';
const FINALIZER = 'aws-fargate.cluster.x-k8s.io/instancegroup';
const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';

const SUBNETS = ['subnet-1a2b3c4d', 'subnet-4d3c2b1a', 'subnet-0w9x8y7z'];

interface Group extends RawObject {
  readonly status?: RawObject['status'] & { readonly currentState?: string; readonly message?: string };
}

describe('docs/keiko.md', () => {
  let audit: PermissionAudit;
  let world: World;
  let terminal: Terminal;
  let manifest: string;

  before(async () => {
    audit = await auditPermissions(MANAGER_ACCOUNT);
    world = await startWorld({
      crds: [OUR_CRD],
      apiServerArgs: audit.apiServerArgs,
    });
    terminal = await openTerminalInClone(world.controlPlane);
    await terminal.run(`
      kubectl apply -f config/components/instance-groups/rbac.yaml
      kubectl create namespace instance-manager
      kubectl --namespace instance-manager create deployment instance-manager --image=keiko
    `);
    const { admin } = world.aws;
    const subnets = SUBNETS.map((id) => ({ id }));
    admin.createCluster({ name: 'the-cluster-for-my-pods', region: REGION, subnets });
    admin.createCluster({ name: 'my-cluster', region: REGION });
    admin.putRole({ name: 'MyPodRole', trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });
    await startManager('--instance-groups');
  });
  after(() =>
    endAll(
      () => Promise.resolve(terminal.close()),
      () => world.finish(),
      () => audit.close(),
    ),
  );
  const guide = takeBlocks('docs/keiko.md', import.meta.url);

  const startManager = (...flags: readonly string[]): Promise<unknown> =>
    world.startManager({ flags: [...flags, `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/*`] });
  const run = (text: string): Promise<string> => terminal.run(guide.next(text));

  async function apply(content: string): Promise<string> {
    terminal.write('manifest.yaml', content);
    return terminal.run('kubectl apply --validate=strict -f ~/manifest.yaml');
  }

  const find = async (name: string): Promise<Group | undefined> => {
    const { items } = await world.controlPlane.api.list(GROUPS);
    return items.find(({ metadata }) => metadata.name === name);
  };
  const until = (name: string, state: string): Promise<unknown> =>
    eventually(async () => (await find(name))?.status?.currentState === state, { what: `${name} ${state}` });
  const gone = (name: string): Promise<unknown> =>
    eventually(async () => (await find(name)) === undefined, { what: `the end of ${name}` });
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
  /**
   * Returns the AWS resources with the tag that the manager adds to a Fargate profile when an AWSFargateProfile takes
   * it over.
   */
  const withOwnerTag = ({ profiles, roles }: ReturnType<typeof resources>, owner: string) => ({
    profiles: profiles.map(({ tags, ...profile }) => ({ ...profile, tags: { ...tags, [OWNER_TAG]: owner } })),
    roles,
  });

  /**
   * Creates a keiko InstanceGroup, and in AWS the role and the Fargate profile that keiko's instance-manager would
   * create for it.
   */
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

  it('makes the manifest in the documentation of keiko Ready, after its CRD has come while the manager ran', async () => {
    await run('kubectl apply --server-side -k config/keiko');
    await terminal.run('kubectl wait --for=condition=Established --timeout=3m crd --all');
    writeFileSync(join(terminal.directory, 'kustomization.yaml'), guide.next('components/instance-groups'));
    const rendered = renderKustomization(world.controlPlane.kubectlPath, terminal.directory);
    const args = [...rendered.matchAll(/^ +- (--\S+)$/gm)].map(([, arg = '']) => arg);
    expect(args).to.include('--instance-groups=true');
    expect(parseFlags(args)).to.satisfy(isRight);

    manifest = guide.next('kind: InstanceGroup');
    expect(await apply(manifest)).to.equal('instancegroup.instancemgr.keikoproj.io/hello-world created\n');
    await run('kubectl wait instancegroup/hello-world');
    expect(
      parse(readFileSync(new URL('../../../tools/demo/instance-group.yaml', import.meta.url), 'utf8')),
    ).to.deep.equal(parse(manifest));
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
      tags: { ...labels, [OWNER_TAG]: 'default/hello-world', [ADDED_TAG]: profile?.tags[ADDED_TAG] },
    });
    const { metadata } = (await find('hello-world')) ?? expect.fail('the group is gone');
    expect(metadata.finalizers).to.deep.equal([FINALIZER]);
  });

  it('deletes the group after its profile', async () => {
    await terminal.run('kubectl delete instancegroup hello-world --wait=false');
    await gone('hello-world');
    expect(world.aws.admin.profiles()).to.deep.equal([]);
    expect(await world.profile('hello-world')).to.equal(undefined);
  });

  it('refuses other provisioners', async () => {
    const refused = await world.kubectl(['apply', '-f', '-'], manifest.replace('eks-fargate', 'eks'));
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain('spec.provisioner: Invalid value').and.contain("apply the CRD of keiko's");
  });

  it('serves groups under the CRD of keiko, which refuses the spelling in the documentation', async () => {
    await applyCrds(world.controlPlane.api, KEIKO_CRD);
    const refused = await world.kubectl(['apply', '--validate=false', '-f', '-'], manifest);
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
    await world.event('shop', 'Normal RoleKept: IAM role fargate-my-cluster-10792580908926203815-role existed before');
    const listed = await run('get instancegroups');
    expect(listed).to.match(/^default +shop +Ready/m);
    expect(listed).to.contain('RoleKept');
    expect(resources()).to.deep.equal(withOwnerTag(before, 'default/shop'));
    expect(operationsOf(calls)).to.deep.equal(['TagResource']);
    await world.controlPlane.api.delete(`${GROUPS}/shop`);
    await gone('shop');
    expect(resources()).to.deep.equal({ profiles: [], roles: before.roles });
  });

  it('makes an AWSFargateProfile of a group while keiko is stopped', async () => {
    await world.stopManager();
    await startManager();
    const scaleDown = guide.next('--replicas=0');
    const profileManifest = guide.next('kind: AWSFargateProfile');
    const { metadata, spec } = parse(profileManifest) as RawObject;
    await createAsKeiko(metadata.name, String(spec?.['profileName']));
    const before = resources();
    writeFileSync(join(terminal.directory, 'batch.yaml'), profileManifest);
    await terminal.run(scaleDown);
    await run('delete instancegroup batch');
    await run('--replicas=1');
    expect(resources()).to.deep.equal(withOwnerTag(before, 'default/batch'));
    await world.delete('batch');
    await world.gone('batch');
  });

  it('uses all the permissions of its component, and needs no others', async () => {
    const rules = rulesIn(readFileSync(COMPONENT, 'utf8'));
    const used = await audit.used();
    expect(permissionsOf(rules).filter((each) => !used.has(each))).to.deep.equal([]);
    expect(await audit.forbidden()).to.deep.equal([]);
  });
});
