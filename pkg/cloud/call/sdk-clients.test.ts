import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, RoleName } from '../../../api/names.ts';
import { newClients, type Clients } from './sdk-clients.ts';
import { eksClusters } from '../eks/clusters.ts';
import { resolveEndpoints } from '../endpoints.ts';
import { podExecutionRoles } from '../iam/roles.ts';
import { expectFailure, expectResponse, CallHarness } from '../testing/calls.ts';
import { FakeTransport, jsonResponse, queryResponse } from '../testing/fake-transport.ts';

const cluster = EksClusterName.of('c');
const answer = (): FakeTransport =>
  new FakeTransport(({ path }) =>
    path.includes('/clusters/')
      ? jsonResponse({ cluster: { name: 'c', arn: 'a', status: 'ACTIVE' } })
      : queryResponse('DeleteRole'),
  );

describe('The SDK clients', () => {
  function clients(
    transport: FakeTransport,
    environment: Readonly<Record<string, string>>,
    region = 'us-gov-east-1',
  ): Clients {
    const endpoints = resolveEndpoints({ serviceEndpoints: [], environment });
    if (E.isLeft(endpoints)) throw new Error(endpoints.left);
    return newClients({
      region,
      transport,
      endpoints: endpoints.right,
      version: 'v1',
      credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's', sessionToken: 'token' }),
    });
  }

  async function send(environment: Readonly<Record<string, string>>, region?: string): Promise<FakeTransport> {
    const transport = answer();
    const harness = new CallHarness(transport);
    const { eks, iam } = clients(transport, environment, region);
    await expectResponse(eksClusters(eks, harness.newCalls('eks')).describe(cluster));
    await expectResponse(podExecutionRoles(iam, harness.newCalls('iam')).delete(RoleName.of('r')));
    return transport;
  }

  it("use AWS's own endpoints, and FIPS endpoints if the environment says so", async () => {
    expect((await send({})).requests.map(({ hostname }) => hostname)).to.deep.equal([
      'eks.us-gov-east-1.amazonaws.com',
      'iam.us-gov.amazonaws.com',
    ]);
    // EKS has separate names for FIPS endpoints only outside the GovCloud regions.
    const fips = await send({ AWS_USE_FIPS_ENDPOINT: 'true' }, 'us-east-1');
    expect(fips.requests.map(({ hostname }) => hostname)).to.deep.equal([
      'fips.eks.us-east-1.amazonaws.com',
      'iam-fips.amazonaws.com',
    ]);
    expect((await send({ AWS_USE_DUALSTACK_ENDPOINT: 'true' })).requests[0]?.hostname).to.equal(
      'eks.us-gov-east-1.api.aws',
    );
  });

  it("use a configured endpoint and sign for AWS's region of the service", async () => {
    const { requests } = await send({ AWS_ENDPOINT_URL: 'http://127.0.0.1:4566/aws' });
    expect(requests.map(({ protocol, hostname, port, path }) => [protocol, hostname, port, path])).to.deep.equal([
      ['http:', '127.0.0.1', 4566, '/aws/clusters/c'],
      ['http:', '127.0.0.1', 4566, '/aws/'],
    ]);
    expect(requests[0]?.headers['authorization']).to.contain('/us-gov-east-1/eks/aws4_request');
    expect(requests[1]?.headers['authorization']).to.contain('/us-gov-west-1/iam/aws4_request');
  });

  it('do not read endpoints from the environment or the configuration files', async () => {
    process.env['AWS_ENDPOINT_URL_EKS'] = 'http://elsewhere.invalid';
    try {
      expect((await send({})).requests[0]?.hostname).to.equal('eks.us-gov-east-1.amazonaws.com');
    } finally {
      delete process.env['AWS_ENDPOINT_URL_EKS'];
    }
  });

  it('reject a call without dispatch options', async () => {
    const transport = answer();
    const { eks } = clients(transport, {});
    const { DescribeClusterCommand } = await import('@aws-sdk/client-eks');
    const refused = await eks.send(new DescribeClusterCommand({ name: 'c' })).then(
      () => 'sent',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    );
    expect(refused).to.contain('an AWS call without its dispatch options');
    expect(transport.requests).to.deep.equal([]);
  });

  it('give each of two simultaneous calls of one operation its own check before it is sent', async () => {
    const transport = answer();
    const harness = new CallHarness(transport);
    const { iam } = clients(transport, {});
    const following = podExecutionRoles(iam, harness.newCalls('iam', { mutationBudget: () => 0 }));
    const leading = podExecutionRoles(iam, harness.newCalls('iam'));
    const [failure] = await Promise.all([
      expectFailure(following.delete(RoleName.of('r-1'))),
      expectResponse(leading.delete(RoleName.of('r-2'))),
    ]);
    expect(failure.code).to.equal('NotDispatched');
    expect(transport.requests.map(({ body }) => body)).to.have.length(1);
    expect(transport.requests[0]?.body).to.contain('RoleName=r-2');
  });
});
