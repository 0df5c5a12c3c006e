import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { left } from 'fp-ts/lib/Either.js';
import { isRight } from 'fp-ts/lib/Either.js';
import { parseAllDocuments } from 'yaml';
import { fieldAt } from 'controller-runtime/json';
import { hasHidden } from 'controller-runtime/text';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ProfileRequest } from '../../../test/aws/admin/admin.ts';
import { type EmulatorServer, startServer } from '../../../test/aws/transport/server.ts';
import { expectGolden } from '../../../test/support/golden.ts';
import { parseDocuments } from '../documents.ts';
import type { ExitCode } from '../io.ts';
import { quietIo } from '../testing/quiet-io.ts';
import { type ImportOptions, type ImportSource, objectNames, runImport } from './run.ts';
import { SOURCES } from './sources.ts';
import { takeOver } from './take-over.ts';

const TESTDATA = 'cmd/capaf/import/testdata';
const golden = (name: string): URL => new URL(`testdata/golden/${name}`, import.meta.url);
const REGION = 'eu-west-1';
const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
/** The AWS SDK's default chain finds credentials only in this environment. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_EC2_METADATA_DISABLED: 'true',
};

interface Outcome {
  readonly out: string;
  readonly code: ExitCode | 1;
}

describe('capaf import', () => {
  let aws: EmulatorServer;
  const saved = Object.keys(ENVIRONMENT).map((name) => [name, process.env[name]] as const);
  before(() => void Object.assign(process.env, ENVIRONMENT));
  after(() => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  beforeEach(async () => {
    aws = await startServer({ keys: [{ accessKeyId: 'test', account: '123456789012' }] });
    const subnets = ['subnet-0aaaaaaaaaaaaaaaa', 'subnet-0bbbbbbbbbbbbbbbb'].map((id) => ({ id }));
    aws.emulator.admin.createCluster({ name: 'prod', region: REGION, subnets });
  });
  afterEach(() => aws.close());

  const put = (profile: Partial<ProfileRequest> & Pick<ProfileRequest, 'name'>): unknown =>
    aws.emulator.admin.putProfile({
      cluster: 'prod',
      region: REGION,
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/pods',
      subnets: ['subnet-0aaaaaaaaaaaaaaaa', 'subnet-0bbbbbbbbbbbbbbbb'],
      selectors: [{ namespace: 'shop', labels: { app: 'web' } }],
      ...profile,
    });

  /** Returns what a user sees: standard output, or the error message with exit code 1. */
  async function run(
    files: readonly string[],
    { from, ...options }: Partial<Omit<ImportOptions, 'from'>> & { readonly from: ImportSource | undefined },
    stdin = '',
  ): Promise<Outcome> {
    let out = '';
    const io = quietIo({
      env: { ...ENVIRONMENT, AWS_ENDPOINT_URL: aws.url, KUBECONFIG: '/nonexistent/kubeconfig' },
      out: (text) => void (out += text),
      readStdin: async () => stdin,
    });
    try {
      const all = {
        eksCluster: 'prod',
        region: REGION,
        namespace: 'team-a',
        output: 'text' as const,
        ...options,
        ...(from && { from }),
      };
      const code = await runImport(files, all, io);
      return { out, code };
    } catch (error) {
      return { out: error instanceof Error ? messages(error) : String(error), code: 1 };
    }
  }

  const messages = (error: Error): string =>
    error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;

  const manifestsIn = (out: string): readonly unknown[] =>
    parseAllDocuments(out).flatMap((document) => (document.contents === null ? [] : [document.toJS() as unknown]));

  function expectReadable(out: string): void {
    for (const manifest of manifestsIn(out)) {
      const metadata = { ...(fieldAt(manifest, 'metadata') as object), uid: 'u', resourceVersion: '1' };
      const decoded = AWSFargateProfile.decode({ ...(manifest as object), metadata });
      expect(isRight(decoded), out).to.equal(true);
    }
  }

  const SHAPES: readonly (readonly [file: string, from: ImportSource, manifests: number])[] = [
    ['ack.yaml', 'ack', 1],
    ['cdk.json', 'cloudformation', 1],
    ['cloudformation.yaml', 'cloudformation', 1],
    ['crossplane.yaml', 'crossplane', 2],
    ['eksctl.yaml', 'eksctl', 2],
    ['keiko.yaml', 'keiko', 1],
    ['live.json', 'live', 1],
    ['terraform-show.json', 'terraform', 1],
    ['terraform-state.json', 'terraform', 2],
  ];

  describe('of a file, without permission to ask AWS', () => {
    for (const [file, from, manifests] of SHAPES)
      it(`reads ${file}`, async () => {
        aws.emulator.admin.deny({ principal: '*', action: 'eks:*' });
        const { out, code } = await run([`${TESTDATA}/${file}`], { from });
        expectGolden(golden(`${file}.txt`), `${out}exit code ${code}\n`);
        expect(out).to.contain('# - AWS was not seen: the credentials may not do eks:DescribeFargateProfile');
        expect(manifestsIn(out)).to.have.length(manifests);
        expectReadable(out);
      });
  });

  describe('of a wrong file', () => {
    const wrong = readdirSync(`${TESTDATA}/wrong`);
    for (const file of wrong)
      it(`refuses ${file}`, async () => {
        const from = file.slice(0, file.search(/[-.]/)) as ImportSource;
        const { out, code } = await run([`${TESTDATA}/wrong/${file}`], { from });
        expect(code).to.equal(1);
        expectGolden(golden(`wrong/${file}.txt`), `${out}\n`);
      });
  });

  describe('compared with AWS', () => {
    const terraform = [`${TESTDATA}/terraform-state.json`];
    const teamA = {
      name: 'team-a',
      selectors: [{ namespace: 'team-a', labels: {} }],
      subnets: ['subnet-0aaaaaaaaaaaaaaaa'],
    };
    const batch = {
      name: 'batch',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/batch-20240101000000000000000001',
      selectors: [
        { namespace: 'batch-*', labels: {} },
        { namespace: 'batch', labels: { run: 'fargate' } },
      ],
      tags: { stage: 'production', team: 'batch', 'aws:cloudformation:stack-name': 'x', cost: '7' },
    };

    it('finds no difference, whatever the order, and takes the tags of AWS', async () => {
      put(teamA);
      put(batch);
      const { out, code } = await run(terraform, { from: 'terraform' });
      expect(code).to.equal(0);
      expectGolden(golden('equal.txt'), out);
      expectReadable(out);
    });

    it('shows each difference, and takes the values of AWS', async () => {
      put({
        ...teamA,
        selectors: [{ namespace: 'team-b', labels: {} }],
        podExecutionRoleArn: 'arn:aws:iam::123456789012:role/other',
      });
      put({ ...batch, subnets: ['subnet-0bbbbbbbbbbbbbbbb'], tags: { team: 'jobs' }, status: 'CREATE_FAILED' });
      const { out, code } = await run(terraform, { from: 'terraform' });
      expect(code).to.equal(2);
      expectGolden(golden('different.txt'), out);
    });

    it('leaves out what AWS does not have, and what belongs to an AWSFargateProfile', async () => {
      put({ ...batch, tags: { [OWNER_TAG]: 'team-b/batch' } });
      const { out, code } = await run(terraform, { from: 'terraform' });
      expect(code).to.equal(2);
      expectGolden(golden('absent-and-owned.txt'), out);
      expect(manifestsIn(out)).to.deep.equal([]);
    });

    it('returns 0 if all profiles belong to AWSFargateProfiles already', async () => {
      put({ name: 'web', tags: { [OWNER_TAG]: 'team-a/web' } });
      const { out, code } = await run([], { from: 'live' });
      expect(code).to.equal(0);
      expect(manifestsIn(out)).to.deep.equal([]);
      expect(out).to.contain('# - It belongs to AWSFargateProfile team-a/web');
    });

    it('names the Cluster of --cluster, and leaves its tag to the controller', async () => {
      put({ name: 'web', tags: { 'kubernetes.io/cluster/prod': 'owned' } });
      const { out, code } = await run([], { from: 'live', cluster: 'prod' });
      expect(code).to.equal(0);
      expect(out).to.contain('clusterName: prod').and.not.contain('additionalTags');
    });

    it('says that the EKS cluster does not exist', async () => {
      aws.emulator.admin.removeCluster({ name: 'prod', region: REGION });
      const { out, code } = await run(terraform, { from: 'terraform' });
      expect(code).to.equal(2);
      expect(out).to.contain('AWS has no such EKS cluster');
      const live = await run([], { from: 'live' });
      expect(live).to.deep.equal({
        code: 1,
        out: 'AWS has no EKS cluster prod in eu-west-1; check the region, which --region or an object names, and the account of the credentials',
      });
    });

    it('finds the profile of a template without names by the tag of CloudFormation, or by its selectors', async () => {
      const resource = (namespace: string): object => ({
        Type: 'AWS::EKS::FargateProfile',
        Properties: {
          ClusterName: { Ref: 'Cluster' },
          FargateProfileName: { 'Fn::Sub': '${AWS::StackName}-x' },
          PodExecutionRoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] },
          Selectors: [{ Namespace: namespace }],
        },
      });
      const template = JSON.stringify({ Resources: { Tagged: resource('shop'), Plain: resource('batch') } });
      put({ name: 'stack-x', tags: { 'aws:cloudformation:logical-id': 'Tagged' } });
      put({ name: 'other-x', tags: { 'aws:cloudformation:logical-id': 'Other' } });
      put({ name: 'a1b2c3', selectors: [{ namespace: 'batch', labels: {} }] });
      const found = await run(['-'], { from: 'cloudformation' }, template);
      const names = manifestsIn(found.out).map((each) => fieldAt(fieldAt(each, 'spec'), 'profileName'));
      expect(names, found.out).to.deep.equal(['stack-x', 'a1b2c3']);

      put({ name: 'twin', selectors: [{ namespace: 'batch', labels: {} }] });
      const { out, code } = await run(['-'], { from: 'cloudformation' }, template);
      expect(code).to.equal(2);
      expect(manifestsIn(out)).to.have.length(1);
      expect(out).to.contain('# - Not known: the name of the profile');
      expect(out).to.contain('# 2. Set "DeletionPolicy: Retain" on the resource Plain');
      expect(out).to.contain('capaf import --from=live --eks-cluster=prod --region=eu-west-1 -n team-a\n');
    });

    it('names first the owner of an object, which would undo the steps', async () => {
      const text = readFileSync(`${TESTDATA}/crossplane.yaml`, 'utf8').replace(
        'metadata:\n',
        'metadata:\n  ownerReferences: [{kind: XCluster, name: prod, controller: true}, {kind: Usage, name: u}]\n',
      );
      aws.emulator.admin.deny({ principal: '*', action: 'eks:*' });
      const { out } = await run(['-'], { from: 'crossplane' }, text);
      expect(out).to.contain(
        '# 1. Take the object out of XCluster prod, which owns it: its controller would create the object again and undo the next steps\n# 2. Let Crossplane keep',
      );
      expect(out).not.to.contain('Usage');
    });

    it('takes from AWS what a template does not tell', async () => {
      put({ name: 'batch', selectors: [{ namespace: 'batch', labels: {} }] });
      const { out } = await run([`${TESTDATA}/cloudformation.yaml`], { from: 'cloudformation' });
      const [manifest] = manifestsIn(out);
      expect(fieldAt(manifest, 'spec')).to.deep.include({
        profileName: 'batch',
        roleARN: 'arn:aws:iam::123456789012:role/pods',
        subnetIDs: ['subnet-0aaaaaaaaaaaaaaaa', 'subnet-0bbbbbbbbbbbbbbbb'],
      });
    });
  });

  describe('of live profiles', () => {
    it('prints all profiles of the EKS cluster', async () => {
      put({ name: 'Web_A', tags: { team: 'shop' } });
      put({ name: 'web-a', selectors: [{ namespace: 'yes', labels: { on: 'off', '012': '1_30' } }] });
      const { out, code } = await run([], { from: 'live' });
      expect(code).to.equal(0);
      expectGolden(golden('live.txt'), out);
      expectReadable(out);
    });

    it('takes as many tags of a profile as the CRD accepts', async () => {
      put({ name: 'web', tags: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`tag-${index}`, 'x'])) });
      const { out } = await run([], { from: 'live' });
      const tags = fieldAt(fieldAt(manifestsIn(out)[0], 'spec'), 'additionalTags') as object;
      expect(Object.keys(tags)).to.have.length(47);
    });

    it('changes nothing in AWS', async () => {
      put({ name: 'web' });
      await run([], { from: 'live' });
      const operations = [...new Set(aws.emulator.log.read().map(({ operation }) => operation))];
      expect(operations).to.have.members(['GetCallerIdentity', 'ListFargateProfiles', 'DescribeFargateProfile']);
    });
  });

  describe('of the options', () => {
    const file = [`${TESTDATA}/terraform-show.json`];

    it('needs to know the cluster, and the namespace of the objects', async () => {
      const options = { from: 'terraform', namespace: undefined } as const;
      expect(await run(file, options)).to.deep.equal({ out: 'give -n, the namespace of the objects', code: 1 });
      const { out, code } = await run(file, { from: 'terraform', eksCluster: undefined as never });
      expect(code).to.equal(1);
      expect(out).to.contain('give --cluster').and.contain('--eks-cluster');
    });

    it('says that all profiles are elsewhere', async () => {
      const { out, code } = await run(file, { from: 'terraform', eksCluster: 'test' });
      expect(code).to.equal(2);
      expect(out).to.match(/^# Fargate profiles: 0\n# Left out: Fargate profile web of EKS cluster prod/);
    });

    it('asks the management cluster only for the EKS cluster of a Cluster', async () => {
      const { out, code } = await run(file, { from: 'terraform', cluster: 'prod', eksCluster: undefined as never });
      expect(code).to.equal(1);
      expect(out).to.contain('/nonexistent/kubeconfig');
    });

    it('reads files and folders with -f, as kubectl does', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'capaf-import-'));
      writeFileSync(join(folder, 'show.json'), readFileSync(file[0] ?? ''));
      const { out } = await run([], { from: 'terraform', filename: [folder] });
      rmSync(folder, { recursive: true });
      expect(out).to.contain(`# Source: Terraform aws_eks_fargate_profile.web, ${folder}/show.json\n`);
    });

    it('refuses names that no object can have, before they stand in a command', async () => {
      const hostile = [
        await run(file, { from: 'terraform', namespace: '--all' }),
        await run(file, { from: 'terraform', cluster: '$(id)' }),
      ];
      expect(hostile).to.deep.equal([
        { out: '-n: no namespace and no Cluster can have the name "--all"', code: 1 },
        { out: '--cluster: no namespace and no Cluster can have the name "$(id)"', code: 1 },
      ]);
      const ack = readFileSync(`${TESTDATA}/ack.yaml`, 'utf8').replace('name: web,', 'name: --all,');
      const { out, code } = await run(['-'], { from: 'ack' }, ack);
      expect(code).to.equal(1);
      expect(out).to.match(/^standard input:\d+:\d+: metadata\.name: expected the name of an object, got "--all"/);
    });

    it('says that capaf itself has no credentials', async () => {
      const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent' };
      const before = Object.keys(none).map((name) => [name, process.env[name] ?? ''] as const);
      Object.assign(process.env, none);
      const { out } = await run([], { from: 'live' });
      Object.assign(process.env, Object.fromEntries(before));
      expect(out).to.match(/^capaf has no AWS credentials: /);
    });

    it('needs to know what has the profiles now', async () => {
      const { out, code } = await run(file, { from: undefined });
      expect(code).to.equal(1);
      expect(out).to.match(/^give --from, what has the profiles now: live, eksctl/);
    });

    it('reads standard input', async () => {
      put({ name: 'web', tags: { stage: 'production' } });
      const { out, code } = await run(['-'], { from: 'terraform' }, readFileSync(file[0] ?? '', 'utf8'));
      expect(code, out).to.equal(0);
      expect(out).to.contain('# Source: Terraform aws_eks_fargate_profile.web, standard input\n');
    });

    it('names a file that does not exist', async () => {
      const { out, code } = await run(['nowhere.json'], { from: 'terraform' });
      expect(code).to.equal(1);
      expect(out).to.match(/^reading nowhere.json: ENOENT/);
    });

    it('lets no text of a file leave its comment or its value', async () => {
      const evil = 'x\n---\nkind: Secret # \u001b[31m\u202e';
      const state = JSON.parse(
        readFileSync(file[0] ?? '', 'utf8').replace(
          '"app": "web"',
          `"app": ${JSON.stringify(evil)}, "bidi": "a\u202eb"`,
        ),
      ) as {
        values: { root_module: { resources: { address: string }[] } };
      };
      for (const resource of state.values.root_module.resources) resource.address = `aws.${evil}'; rm -r`;
      aws.emulator.admin.deny({ principal: '*', action: 'eks:*' });
      const { out } = await run(['-'], { from: 'terraform' }, JSON.stringify(state));
      expect(hasHidden(out)).to.equal(false);
      expect(out).to.contain(String.raw`terraform state rm -- 'aws.x --- kind: Secret # \u001b[31m\u202e'\''; rm -r'`);
      const spec = fieldAt(manifestsIn(out)[0], 'spec');
      expect(fieldAt(spec, 'selectors')).to.deep.equal([
        { namespace: 'shop', labels: { app: evil, bidi: 'a\u202eb' } },
      ]);
      expect(manifestsIn(out)).to.have.length(1);
    });

    it('prints JSON', async () => {
      put({ name: 'web', tags: { stage: 'production' } });
      const { out, code } = await run(file, { from: 'terraform', output: 'json' });
      expect(code).to.equal(0);
      expectGolden(golden('output.json'), out);
    });
  });
});

describe('the commands for a takeover', () => {
  it('quote shell metacharacters from a file or control plane', () => {
    const source = {
      source: 's',
      name: ProfileName.of('web'),
      roleARN: RoleArn.of('arn:aws:iam::123456789012:role/pods'),
      selectors: [],
      tags: {},
      release: [],
    };
    const hostile = { cluster: EksClusterName.of('$(id)'), region: "x';id;'" };
    const target = { namespace: 'a', clusterName: undefined, eksCluster: hostile.cluster, region: undefined };
    const { steps } = takeOver({ ...source, ...hostile }, left(''), target, 'web');
    const quoted = String.raw`'x'\'';id;'\'''`;
    const place = `123456789012/${quoted.slice(1, -1)}/$(id)`;
    expect(steps[0]).to.equal(`Give the manager the flag '--allow-eks-cluster=a=${place}'`);
  });

  it('are not created from an ARN with an invalid region', () => {
    const text = readFileSync(`${TESTDATA}/live.json`, 'utf8');
    const wrong = text.replace('arn:aws:eks:eu-west-1:', 'arn:aws:eks:$(id):');
    const [document] = parseDocuments('live.json', wrong);
    expect(() => document && SOURCES.live.read(document)).to.throw('expected the ARN of a Fargate profile');
  });
});

describe('objectNames', () => {
  it('makes DNS names, each once', () => {
    const names = ['Web_A', 'web-a', 'WEB-A', '_', 'ümlaut', '世界', '9'].map((name) => ({ name: name as never }));
    expect(objectNames(names)).to.deep.equal(['web-a', 'web-a-2', 'web-a-3', 'profile', 'mlaut', 'profile-2', '9']);
  });
});
