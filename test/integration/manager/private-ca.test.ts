import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { systemClock, systemRandom } from 'controller-runtime/env';
import { selfSignedCertificate } from 'controller-runtime/http';
import { startServer, type EmulatorServer } from '../../aws/transport/server.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { runManagerCommand } from '../../world/manager/run-manager.ts';
import { messageOf } from '../../world/object-state.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

const HOUR = 3_600_000;

describe('a manager in a network whose certificates a private authority signs', () => {
  const world = useWorld();
  let aws: EmulatorServer;
  let caPath = '';

  before(async () => {
    const now = systemClock.now();
    const validity = { notBefore: now - HOUR, notAfter: now + 24 * HOUR };
    const { cert, key } = selfSignedCertificate({ hostname: 'localhost', ...validity }, systemRandom);
    caPath = join(world.controlPlane.dir, 'company-ca.pem');
    writeFileSync(caPath, cert);
    aws = await startServer({ emulator: world.aws, tls: { cert, key } });
    world.addCleanup(() => aws.close());
    await world.createEksCluster('prod');
  });

  it('says on the object that AWS has an untrusted certificate', async () => {
    await world.startManager({ awsUrl: aws.url });
    await world.apply(fargateProfile('untrusted', { clusterName: 'prod' }));
    const object = await world.condition('untrusted', 'CredentialsReady', {
      status: 'False',
      reason: 'AWSUnavailable',
    });
    expect(messageOf(object, 'CredentialsReady')).to.contain(
      `no known authority has signed the certificate of ${aws.url}. If your network has an authority of its own, name its ` +
        'certificates in AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS (STS GetCallerIdentity)',
    );
    await world.stopManager();
  });

  it('trusts the authorities of AWS_CA_BUNDLE for AWS', async () => {
    await world.startManager({ awsUrl: aws.url, env: { AWS_CA_BUNDLE: caPath } });
    await world.apply(fargateProfile('bundle', { clusterName: 'prod' }));
    await world.ready('bundle');
    await world.ready('untrusted');
    await world.stopManager();
  });

  it('trusts the authorities of NODE_EXTRA_CA_CERTS for AWS and for the API server', async () => {
    const kubeconfig = parse(readFileSync(world.controlPlane.user(MANAGER_ACCOUNT).kubeconfigPath, 'utf8')) as {
      clusters: [{ cluster: Record<string, unknown> }];
    };
    delete kubeconfig.clusters[0].cluster['certificate-authority'];
    const kubeconfigPath = join(world.controlPlane.dir, 'without-ca.kubeconfig');
    writeFileSync(kubeconfigPath, stringify(kubeconfig), { mode: 0o600 });
    const bothPath = join(world.controlPlane.dir, 'company-cas.pem');
    writeFileSync(bothPath, [caPath, world.controlPlane.caPath].map((path) => readFileSync(path, 'utf8')).join('\n'));
    await world.startManager({ awsUrl: aws.url, kubeconfigPath, env: { NODE_EXTRA_CA_CERTS: bothPath } });
    await world.apply(fargateProfile('extra', { clusterName: 'prod' }));
    await world.ready('extra');
  });
});

describe('AWS_CA_BUNDLE with a file that cannot be read', () => {
  const message =
    'the file /nonexistent/ca.pem of the environment variable AWS_CA_BUNDLE cannot be read: ENOENT. Name a file of ' +
    'certificates in PEM, or unset the variable\n';

  it('ends the start of the manager with the name of the file', async () => {
    expect(await runManagerCommand([], { AWS_CA_BUNDLE: '/nonexistent/ca.pem' })).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: `manager: ${message}`,
    });
  });
});
