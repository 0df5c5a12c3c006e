import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { type DnsFacts, checkDns } from './dns.ts';
import type { AwsFacts } from './read-aws.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

/** Returns CoreDNS with two replicas, of which `readyReplicas` are ready. */
const coredns = (readyReplicas: number, annotations = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'coredns', namespace: 'kube-system', uid: 'u', resourceVersion: '1' },
  spec: {
    replicas: 2,
    template: { metadata: { labels: { 'k8s-app': 'kube-dns' }, annotations }, spec: { containers: [{}] } },
  },
  status: { readyReplicas },
});
const dns = (object: ReturnType<typeof coredns> | undefined, hasOtherNodes = false): DnsFacts => {
  return { cluster: 'prod', eksCluster: EksClusterName.of('prod-eks'), answer: E.right({ object, hasOtherNodes }) };
};
const ofNamespace = (namespace: string): AwsFacts => {
  const selectors = [{ namespace, labels: {} }];
  const profile = { name: ProfileName.of('system'), status: 'ACTIVE', selectors } as unknown as FargateProfile;
  const clusters = [{ cluster: { name: 'prod-eks' }, profiles: E.right([profile]) }];
  return { clusters } as unknown as AwsFacts;
};
const NOTHING = { clusters: [] };

function lineOf(facts: DnsFacts, aws: Pick<AwsFacts, 'clusters'> = NOTHING): readonly (string | undefined)[] {
  const [check] = checkDns(facts, aws, NOW);
  return [`${check?.result} ${check?.name}: ${check?.message}`, check?.fix];
}

describe('CoreDNS, as capaf doctor checks it,', () => {
  const look = 'See kubectl describe pods -n kube-system, in the workload cluster';

  it('is looked at with --cluster only', () => expect(checkDns(undefined, NOTHING, NOW)).to.deep.equal([]));

  it('is ok if its pods are ready, wherever they run', () => {
    expect(lineOf(dns(coredns(2)))).to.deep.equal(['ok CoreDNS of prod: 2 of 2 pods ready', undefined]);
  });

  it('needs a profile where there are no other nodes', () => {
    const [line, fix] = lineOf(dns(coredns(0)), ofNamespace('shop'));
    expect(line).to.equal(
      'problem CoreDNS of prod: 0 of 2 pods ready. No Fargate profile takes Deployment kube-system/coredns: none has a selector that matches it.',
    );
    expect(fix).to.equal('Create an AWSFargateProfile for namespace kube-system: docs/fargate-only.md');
    const [taken] = lineOf(dns(coredns(1)), ofNamespace('kube-system'));
    expect(taken).to.match(/^warning .* 1 of 2 pods ready\. Fargate profile "system" takes Deployment/);
  });

  it('stays off Fargate with the annotation of older versions, and says to remove it', () => {
    const old = coredns(0, { 'eks.amazonaws.com/compute-type': 'ec2' });
    const [line, fix] = lineOf(dns(old), ofNamespace('kube-system'));
    expect(line).to.match(/^problem .* its annotation eks\.amazonaws\.com\/compute-type is ec2\.$/);
    expect(fix).to.match(/CoreDNS: kubectl -n kube-system patch deployment\/coredns --type=json '--patch=\[/);
  });

  it('may wait for another node, or for a profile that AWS does not show', () => {
    expect(lineOf(dns(coredns(0), true), ofNamespace('shop'))).to.deep.equal([
      'problem CoreDNS of prod: 0 of 2 pods ready; the cluster has nodes besides those of Fargate',
      look,
    ]);
    expect(lineOf(dns(coredns(0)))).to.deep.equal([
      'problem CoreDNS of prod: 0 of 2 pods ready; which Fargate profile takes them is not known: EKS was not asked',
      look,
    ]);
  });

  it('may be missing, or in a cluster that does not answer', () => {
    const [line] = lineOf(dns(undefined));
    expect(line).to.equal(
      'warning CoreDNS of prod: there is no Deployment kube-system/coredns, so pods may find no names',
    );
    const hidden = { ...dns(undefined), answer: E.left('forbidden') };
    expect(lineOf(hidden)).to.deep.equal(['unchecked CoreDNS of prod: forbidden', undefined]);
  });
});
