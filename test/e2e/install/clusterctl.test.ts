import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { parse, parseAllDocuments } from 'yaml';
import { parseFlags } from '../../../cmd/manager/flags/parse-flags.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../../envtest/clients/crds.ts';
import { capaCrds } from '../../envtest/control-plane/capa-manifests.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { startEndlessCreation } from '../../world/aws/operations.ts';
import { PROFILE_CRD } from '../../world/cluster-api/capa-installation.ts';
import type { ClusterctlRepository } from '../../world/cluster-api/clusterctl/clusterctl-repository.ts';
import {
  CERT_MANAGER_CRDS,
  FIRST_VERSION,
  IMAGE,
  createClusterctlRepository,
} from '../../world/cluster-api/clusterctl/clusterctl-repository.ts';
import {
  initProvider,
  installedContainer,
  startInstalledManager,
} from '../../world/cluster-api/clusterctl/installed-provider.ts';
import { type Rule, permissionsOf, rulesIn } from '../../world/manager/permissions.ts';
import { pathOfManifest } from '../../world/manifests.ts';
import { type World, ACCOUNT, REGION, fargateProfile, startWorld } from '../../world/world.ts';

const NEXT_VERSION = 'v0.1.1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACE = '/namespaces/capaf-system';
const SERVICE_ACCOUNT = `/api/v1${NAMESPACE}/serviceaccounts/capaf-manager`;
const ROLE_ARN = 'arn:aws:iam::123456789012:role/capaf';
const PROVIDER = `/apis/clusterctl.cluster.x-k8s.io/v1alpha3${NAMESPACE}/providers/infrastructure-aws-fargate`;

const KEIKO_CRD = fileURLToPath(
  new URL('../../../config/keiko/instancemgr.keikoproj.io_instancegroups.yaml', import.meta.url),
);
const GROUP = {
  apiVersion: 'instancemgr.keikoproj.io/v1alpha1',
  kind: 'InstanceGroup',
  metadata: { name: 'group', namespace: 'default' },
  spec: {
    provisioner: 'eks-fargate',
    strategy: { type: 'managed' },
    'eks-fargate': { clusterName: 'tools', selectors: [{ namespace: 'group' }] },
  },
};

/** The clusterctl variables that turn on all optional features of this provider. */
const OPTIONAL_PARTS = {
  CAPAF_MANAGE_CRD: 'true',
  CAPAF_INSTANCE_GROUPS: 'true',
  CAPAF_ALLOW_EKS_CLUSTERS: `default=${ACCOUNT}/${REGION}/tools, team-a=${ACCOUNT}/${REGION}/*`,
};
const toEach = (value: string): Readonly<Record<string, string>> => ({
  CAPAF_MANAGE_CRD: value,
  CAPAF_INSTANCE_GROUPS: value,
});

const rulesInFiles = (...paths: readonly string[]): readonly Rule[] =>
  paths.flatMap((path) => rulesIn(readFileSync(new URL(`../../../config/${path}`, import.meta.url), 'utf8')));
const BASE_RULES = rulesInFiles('rbac/role.yaml', 'rbac/metrics_reader_role.yaml');
const OPTIONAL_RULES = rulesInFiles('components/crd-keeper/rbac.yaml', 'components/instance-groups/rbac.yaml');
const BASE_PERMISSIONS = permissionsOf(rulesInFiles('rbac/role.yaml'));
const OPTIONAL_PERMISSIONS = permissionsOf(OPTIONAL_RULES).filter((each) => !BASE_PERMISSIONS.includes(each));

/**
 * Returns the RBAC rules that have an effect. While the clusterctl variable of an optional feature is off, the API
 * group or the resource in the RBAC rules of this feature is an invalid name, e.g. the API group `.k8s.io` or the
 * resource `falsemaps`.
 */
const effectiveRules = (text: string): readonly Rule[] =>
  rulesIn(text).filter(
    ({ apiGroups = [], resources = [] }) =>
      !apiGroups.some((group) => /^(false)?\./.test(group)) &&
      !resources.some((resource) => /^(false)?maps$/.test(resource)),
  );

describe('the real clusterctl, with a release of this provider in a local repository', () => {
  let directory: string;
  let repository: ClusterctlRepository;
  let world: World;
  const run = (...args: readonly string[]) => repository.run(world.controlPlane, args);

  before(async function () {
    directory = await mkdtemp(join(tmpdir(), 'capaf-clusterctl-'));
    repository = await createClusterctlRepository(directory).catch(skipIfBinariesMissing(this));
    const capa = (await loadCrds(STAND_IN_CRDS)).filter(({ spec }) => spec.group !== 'cluster.x-k8s.io');
    world = await startWorld({ crds: [...capa, CERT_MANAGER_CRDS], hasRbac: false });
  });
  after(async () => {
    await world.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const keiko = takeBlocks('docs/keiko.md', import.meta.url);
  const container = () => installedContainer(world);

  /** The permissions of the manager's service account in its namespace, as the API server lists them. */
  async function grantedPermissions(): Promise<readonly string[]> {
    const { token } = world.controlPlane.user(MANAGER_ACCOUNT);
    const api = world.controlPlane.api.withToken(token);
    const { status } = await api.post<{ readonly status: { readonly resourceRules: readonly Rule[] } }>(
      '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'capaf-system' } },
    );
    api.close();
    return permissionsOf(status.resourceRules);
  }

  const startManager = (name: string) => startInstalledManager(world, { name });

  describe('generate provider', () => {
    const generate = async (variables: Readonly<Record<string, string>>): Promise<string> =>
      (
        await repository.run(
          world.controlPlane,
          ['generate', 'provider', '--infrastructure', `aws-fargate:${FIRST_VERSION}`],
          { variables },
        )
      ).stdout;

    it('uses defaults for all variables', async () => {
      const text = await generate({});
      expect(text).to.not.contain('${').and.to.not.contain('eks.amazonaws.com/role-arn');
      for (const arg of ['--diagnostics-address=:8443', '--insecure-diagnostics=false', '--v=0'])
        expect(text).to.contain(`- ${arg}\n`);
    });

    it('passes the values of docs/keiko.md as flags that the manager accepts', async () => {
      const variables = parse(keiko.next('CAPAF_INSTANCE_GROUPS')) as Readonly<Record<string, string>>;
      const args = [...(await generate(variables)).matchAll(/^ +- (--\S+)$/gm)].map(([, arg = '']) => arg);
      expect(args).to.include.members([
        '--instance-groups=true',
        '--allow-eks-cluster=default=123456789012/eu-west-1/*',
      ]);
      expect(parseFlags(args)).to.satisfy(isRight);
    });

    it('grants the permissions of config/rbac, and those of optional components only if their variables are true', async () => {
      for (const variables of [{}, toEach('false')])
        expect(effectiveRules(await generate(variables)), JSON.stringify(variables)).to.have.deep.members(BASE_RULES);
      expect(effectiveRules(await generate(OPTIONAL_PARTS))).to.have.deep.members([...BASE_RULES, ...OPTIONAL_RULES]);
    });

    it('replaces the variables', async () => {
      const text = await generate({
        CAPAF_ROLE_ARN: ROLE_ARN,
        CAPAF_LOGLEVEL: '4',
        CAPAF_DIAGNOSTICS_ADDRESS: ':9443',
        CAPAF_INSECURE_DIAGNOSTICS: 'true',
      });
      expect(text).to.contain(`eks.amazonaws.com/role-arn: ${ROLE_ARN}\n`);
      for (const arg of ['--diagnostics-address=:9443', '--insecure-diagnostics=true', '--v=4'])
        expect(text).to.contain(`- ${arg}\n`);
    });
  });

  describe('init', () => {
    before(() => initProvider(repository, world, { variables: { CAPAF_ROLE_ARN: ROLE_ARN, ...OPTIONAL_PARTS } }));

    it('installs the provider beside the core', async () => {
      const { api } = world.controlPlane;
      expect((await container()).image).to.equal(`${IMAGE}:${FIRST_VERSION}`);
      expect((await api.get(SERVICE_ACCOUNT)).metadata.annotations).to.deep.equal({
        'eks.amazonaws.com/role-arn': ROLE_ARN,
      });
      expect(await api.exists(PROFILE_CRD)).to.equal(true);
      expect(await api.get(PROVIDER)).to.include({ version: FIRST_VERSION, type: 'InfrastructureProvider' });
    });

    it('gives the manager the permissions to make a profile Ready', async () => {
      await startManager('first');
      await world.createEksCluster('prod');
      await world.apply(fargateProfile('web'));
      await world.ready('web');
    });

    it('gives the manager the permissions of the optional parts whose variables are true', async () => {
      await eventually(async () => expect(await grantedPermissions()).to.include.members(OPTIONAL_PERMISSIONS));
      const { api } = world.controlPlane;
      await applyCrds(api, KEIKO_CRD);
      world.aws.admin.createCluster({ name: 'tools', region: REGION });
      await world.apply(GROUP);
      await eventually(async () => {
        const { currentState } = ((await api.get(pathOfManifest(GROUP))).status ?? {}) as object & {
          readonly currentState?: string;
        };
        expect(currentState).to.equal('Ready');
      });
      await api.delete(pathOfManifest(GROUP));
      await world.gone(GROUP.metadata.name);
      expect(world.manager.log())
        .to.contain('controller="crdkeeper"')
        .and.not.match(/forbidden/i);
    });
  });

  describe('generate cluster', () => {
    it('adds a profile to a cluster with the flavor fargate-profile', async () => {
      const { stdout } = await run('generate', 'cluster', 'prod', '-i', 'aws-fargate', '--flavor', 'fargate-profile');
      const applied = await world.kubectl(['apply', '--validate=strict', '-f', '-'], stdout);
      expect(applied.stderr).to.equal('');
      const { spec } = await world.ready('prod-default');
      expect(spec).to.deep.include({ clusterName: 'prod', selectors: [{ namespace: 'default' }] });
    });

    /** Generates a cluster, and lets the API server check it strictly with the CRDs of Cluster API Provider AWS. */
    async function generate(flavor: string, variables: Readonly<Record<string, string>>): Promise<readonly string[]> {
      const args = ['-i', 'aws-fargate', '--flavor', flavor, '--kubernetes-version', 'v1.34.0'];
      const { stdout } = await repository.run(world.controlPlane, ['generate', 'cluster', 'my-cluster', ...args], {
        variables: { AWS_REGION: 'eu-west-1', ...variables },
      });
      const applied = await world.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], stdout);
      // Like the templates of Cluster API Provider AWS, the templates here use v1beta1, because all supported versions
      // of Cluster API serve it.
      const deprecated =
        'Warning: cluster.x-k8s.io/v1beta1 Cluster is deprecated; use cluster.x-k8s.io/v1beta2 Cluster\n';
      expect(applied.stderr.replace(deprecated, '')).to.equal('');
      return parseAllDocuments(stdout).map((document) => (document.toJS() as { kind: string }).kind);
    }

    describe('with the CRDs of Cluster API Provider AWS', () => {
      const CLUSTER_KINDS = ['Cluster', 'AWSManagedCluster', 'AWSManagedControlPlane'];
      const guide = takeBlocks('docs/fargate-only.md', import.meta.url);
      before(async function () {
        const crds = await capaCrds(['awsmanagedclusters', 'awsmanagedcontrolplanes']).catch(
          skipIfBinariesMissing(this),
        );
        await applyCrds(world.controlPlane.api, ...crds);
      });
      after(() => applyCrds(world.controlPlane.api, STAND_IN_CRDS));

      it('makes a cluster with the flavor eks-fargate and the variables of Cluster API Provider AWS', async () => {
        const kinds = await generate('eks-fargate', { AWS_SSH_KEY_NAME: 'default' });
        expect(kinds).to.have.members([...CLUSTER_KINDS, 'AWSFargateProfile']);
      });

      it('makes a cluster without nodes with the flavor eks-fargate-only, as docs/fargate-only.md says', async () => {
        const [, version = ''] = /COREDNS_VERSION=(\S+)/.exec(guide.next('eks-fargate-only')) ?? [];
        const kinds = await generate('eks-fargate-only', { COREDNS_VERSION: version });
        expect(kinds).to.have.members([...CLUSTER_KINDS, 'AWSFargateProfile', 'AWSFargateProfile']);
      });

      it('accepts the profile with logs of docs/fargate-only.md', async () => {
        const manifest = guide.next('roleAdditionalPolicies');
        const applied = await world.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], manifest);
        expect(applied.stderr).to.equal('');
      });
    });
  });

  describe('upgrade', () => {
    before(() => repository.addVersion(NEXT_VERSION));

    it('plans the next version', async () => {
      const { stdout } = await run('upgrade', 'plan');
      expect(stdout).to.match(
        new RegExp(`infrastructure-aws-fargate +capaf-system +Infrastructure\\S* +${FIRST_VERSION} +${NEXT_VERSION}`),
      );
    });

    it('loses nothing and makes nothing twice while EKS creates and deletes profiles', async () => {
      const { admin } = world.aws;
      const calls = callsFromNow(world.aws);
      await startEndlessCreation(world, 'prod', 'creating');
      await world.apply(fargateProfile('queued'));
      await world.condition('queued', 'Reconciling', { status: 'True', reason: 'WaitingForSibling' });
      await world.delete('web');
      await world.stopManager();
      await run('upgrade', 'apply', '--infrastructure', `capaf-system/aws-fargate:${NEXT_VERSION}`);
      expect((await container()).image).to.equal(`${IMAGE}:${NEXT_VERSION}`);
      // The upgrade ran without the clusterctl variables of the optional features, so the manager has lost their
      // permissions.
      await eventually(async () => {
        const granted = await grantedPermissions();
        expect(granted.filter((each) => OPTIONAL_PERMISSIONS.includes(each))).to.deep.equal([]);
        expect(granted).to.include.members(BASE_PERMISSIONS);
      });
      expect(await world.controlPlane.api.get(PROVIDER)).to.include({ version: NEXT_VERSION });

      admin.setProfile({ cluster: 'default_prod-control-plane', name: 'default_creating', status: 'ACTIVE' });
      await startManager('second');
      await Promise.all([world.ready('creating'), world.ready('queued'), world.gone('web')]);
      const changes = calls.mutations().filter(({ operation }) => /^(Create|Delete)FargateProfile$/.test(operation));
      expect(
        changes.map(({ operation, identifiers }) => `${operation} ${identifiers['fargateProfileName']}`),
      ).to.have.members([
        'CreateFargateProfile default_creating',
        'CreateFargateProfile default_queued',
        'DeleteFargateProfile default_web',
      ]);
    });
  });

  describe('delete', () => {
    const clusterScoped = async (): Promise<readonly string[]> => {
      const { api } = world.controlPlane;
      const paths = [
        `${RBAC}/clusterroles`,
        `${RBAC}/clusterrolebindings`,
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      ];
      const lists = await Promise.all(paths.map((path) => api.list(path)));
      return lists
        .flatMap(({ items }) => items)
        .filter(({ metadata }) => metadata.labels?.['cluster.x-k8s.io/provider'] === 'infrastructure-aws-fargate')
        .map(({ metadata }) => metadata.name);
    };

    it('leaves nothing cluster-scoped after the profiles are gone', async () => {
      const names = ['creating', 'queued', 'prod-default'];
      await Promise.all(names.map((name) => world.delete(name)));
      await Promise.all(names.map((name) => world.gone(name)));
      await world.stopManager();
      const bound = ['manager', 'crd-keeper', 'instance-groups'].map((name) => `capaf-system-${name}`);
      expect(await clusterScoped()).to.have.members([
        ...bound,
        ...bound,
        'capaf-system-metrics-reader',
        'awsfargateprofiles.infrastructure.cluster.x-k8s.io',
      ]);
      await world.controlPlane.startControllerManager();
      await run('delete', '--infrastructure', 'aws-fargate', '--include-crd', '--include-namespace');
      await eventually(async () => (await clusterScoped()).length === 0, { what: 'the deletion of the CRD' });
      const { admin } = world.aws;
      const left = [...admin.profiles(), ...admin.roles()].map(({ name }) => name);
      // EKS creates the service-linked role AWSServiceRoleForAmazonEKSForFargate with the first Fargate profile of an
      // account, and does not delete it.
      expect(left).to.deep.equal(['AWSServiceRoleForAmazonEKSForFargate']);
      await eventually(async () => !(await world.controlPlane.api.exists('/api/v1/namespaces/capaf-system')), {
        what: 'the deletion of the namespace and of everything in it',
      });
    });
  });
});
