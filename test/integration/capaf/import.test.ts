import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { AccountId, EksClusterName } from '../../../api/names.ts';
import { trustPolicy } from '../../../pkg/fargate/trust-policy.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { type Terminal, openTerminal } from '../../docs/terminal.ts';
import { STAND_IN_CRDS } from '../../envtest/clients/crds.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { ACCOUNT, AWS_KEY, OUR_CRD, REGION, useWorld } from '../../world/world.ts';
import { PROGRAM } from './run-capaf.ts';

const GOLDEN = fileURLToPath(new URL('../../../cmd/capaf/import/testdata/golden', import.meta.url));
const EKS_CLUSTER = 'default_prod-control-plane' as EksClusterName;
const SUBNET = 'subnet-0aaaaaaaaaaaaaaaa';

describe('capaf import, on a real API server', () => {
  const world = useWorld({ crds: [STAND_IN_CRDS, OUR_CRD] });
  let terminal: Terminal;
  before(async () => {
    await world.createEksCluster('prod');
    await world.createNamespace('team-a');
    terminal = await openTerminal(world.controlPlane, {
      env: {
        AWS_ENDPOINT_URL: world.awsUrl,
        AWS_ACCESS_KEY_ID: AWS_KEY,
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    });
    world.addCleanup(() => terminal.close());
  });
  const blocks = takeBlocks('docs/cli.md', import.meta.url);

  const run = (commands: string): Promise<string> =>
    terminal.run(`capaf() { '${process.execPath}' '${PROGRAM}' "$@"; }\n${commands}`);

  for (const file of readdirSync(GOLDEN).filter((name) => name.endsWith('.txt') && name !== 'absent-and-owned.txt'))
    it(`prints manifests that the API server accepts: ${file}`, async () => {
      const text = readFileSync(`${GOLDEN}/${file}`, 'utf8').replace(/^exit code .*$/m, '');
      const { stdout, stderr, code } = await world.kubectl(['apply', '--dry-run=server', '-f', '-'], text);
      expect(code, stderr).to.equal(0);
      expect(stdout.match(/created \(server dry run\)$/gm)).to.have.length(text.match(/^kind: /gm)?.length ?? 0);
    });

  it('lets the manager adopt a live profile of a Cluster, and change only its tags', async () => {
    const place = { partition: 'aws', region: REGION, account: ACCOUNT as AccountId, cluster: EKS_CLUSTER };
    const role = world.aws.admin.putRole({ name: 'pods', trustPolicy: trustPolicy(place) });
    const existing = world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'Web_Shop',
      podExecutionRoleArn: role.arn,
      selectors: [{ namespace: 'shop', labels: { app: 'web' } }],
      subnets: [SUBNET],
      tags: { team: 'shop' },
    });
    await world.startManager();
    const calls = callsFromNow(world.aws);

    await run(blocks.next('capaf import'));
    expect(readFileSync(join(terminal.directory, 'profiles.yaml'), 'utf8')).to.equal(blocks.next('Web_Shop'));
    const [apply = '', ...adopt] = blocks.next('kubectl apply').split('\n');
    await run(apply);
    await world.condition('web-shop', 'Paused', { status: 'True' });
    expect(calls.mutations()).to.deep.equal([]);

    await run(adopt.join('\n'));
    expect(calls.mutations().map(({ operation }) => operation)).to.deep.equal(['TagResource']);
    const { tags, ...rest } = world.awsView.profile('Web_Shop') ?? {};
    const { tags: _before, ...before } = existing;
    expect(rest).to.deep.equal(before);
    expect(tags).to.include({
      team: 'shop',
      'kubernetes.io/cluster/prod': 'owned',
      'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'default/web-shop',
    });

    const again = await run('capaf import --from live --cluster prod -n default');
    expect(again).to.contain('# - It belongs to AWSFargateProfile default/web-shop').and.not.contain('kind:');
  });
});
