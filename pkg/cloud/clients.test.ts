import { createHook } from 'node:async_hooks';
import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, RoleName } from '../../api/names.ts';
import type { Clients } from './clients.ts';
import { newClients } from './clients.ts';
import { eksClusters } from './eks/clusters.ts';
import { resolveEndpoints } from './endpoints.ts';
import { podExecutionRoles } from './iam/roles.ts';
import { answerOf, Workbench } from './testing/calls.ts';
import { FakeTransport, json, result } from './testing/fake-transport.ts';

const cluster = EksClusterName.of('c');
const answer = (): FakeTransport =>
  new FakeTransport(({ path }) =>
    path.includes('/clusters/') ? json({ cluster: { name: 'c', arn: 'a', status: 'ACTIVE' } }) : result('DeleteRole'),
  );

describe('the clients of the SDK', () => {
  function clients(transport: FakeTransport, environment: Readonly<Record<string, string>>): Clients {
    const endpoints = resolveEndpoints({ serviceEndpoints: [], environment });
    if (E.isLeft(endpoints)) throw new Error(endpoints.left);
    return newClients({
      region: 'us-gov-east-1',
      transport,
      endpoints: endpoints.right,
      version: 'v1',
      credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's', sessionToken: 'token' }),
    });
  }

  async function send(environment: Readonly<Record<string, string>>): Promise<FakeTransport> {
    const transport = answer();
    const bench = new Workbench(transport);
    const { eks, iam } = clients(transport, environment);
    await answerOf(eksClusters(eks, bench.calling('eks')).describe(cluster));
    await answerOf(podExecutionRoles(iam, bench.calling('iam')).delete(RoleName.of('r')));
    return transport;
  }

  it('sign with the whole of the credentials', async () => {
    const { requests } = await send({});
    expect(requests[0]?.headers).to.include({ 'x-amz-security-token': 'token' });
    expect(requests[0]?.headers['authorization']).to.contain('Credential=AKIDEXAMPLE/');
  });

  it("go to AWS' own endpoints, FIPS ones where the environment says so", async () => {
    expect((await send({})).requests.map(({ hostname }) => hostname)).to.deep.equal([
      'eks.us-gov-east-1.amazonaws.com',
      'iam.us-gov.amazonaws.com',
    ]);
    expect((await send({ AWS_USE_FIPS_ENDPOINT: 'true' })).requests[0]?.hostname).to.equal(
      'eks.us-gov-east-1.amazonaws.com',
    );
    expect((await send({ AWS_USE_DUALSTACK_ENDPOINT: 'true' })).requests[0]?.hostname).to.equal(
      'eks.us-gov-east-1.api.aws',
    );
  });

  it('go to a configured endpoint, and sign for the region that they would have there', async () => {
    const { requests } = await send({ AWS_ENDPOINT_URL: 'http://127.0.0.1:4566/aws' });
    expect(requests.map(({ protocol, hostname, port, path }) => [protocol, hostname, port, path])).to.deep.equal([
      ['http:', '127.0.0.1', 4566, '/aws/clusters/c'],
      ['http:', '127.0.0.1', 4566, '/aws/'],
    ]);
    expect(requests[0]?.headers['authorization']).to.contain('/us-gov-east-1/eks/aws4_request');
    expect(requests[1]?.headers['authorization']).to.contain('/us-gov-west-1/iam/aws4_request');
  });

  it("do not look up endpoints behind the manager's back", async () => {
    process.env['AWS_ENDPOINT_URL_EKS'] = 'http://elsewhere.invalid';
    try {
      expect((await send({})).requests[0]?.hostname).to.equal('eks.us-gov-east-1.amazonaws.com');
    } finally {
      delete process.env['AWS_ENDPOINT_URL_EKS'];
    }
  });

  it('refuse to send anything that does not come through the wrapper of calls', async () => {
    const transport = answer();
    const { eks } = clients(transport, {});
    const { DescribeClusterCommand } = await import('@aws-sdk/client-eks');
    const refused = await eks.send(new DescribeClusterCommand({ name: 'c' })).then(
      () => 'sent',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    );
    expect(refused).to.contain('a call of AWS came without its guard');
    expect(transport.requests).to.deep.equal([]);
  });

  it('touch no file, no timer and no socket for a call: nothing but the transport', async () => {
    const transport = answer();
    const bench = new Workbench(transport);
    const all = clients(transport, {});
    const touched: string[] = [];
    // The SDK keeps what it has read of a file: at a place of its own nothing is kept from another test.
    process.env['AWS_CONFIG_FILE'] = '/of/this/test/alone';
    // mocha arms its own timer as soon as the test hands over.
    await bench.clock.settle();
    const hook = createHook({
      init: (_id, type) => {
        // Promises are everywhere; random bytes are the invocation id, which is a header and nothing else.
        if (!['PROMISE', 'TickObject', 'Microtask', 'RANDOMBYTESREQUEST'].includes(type)) touched.push(type);
      },
    }).enable();
    try {
      await answerOf(eksClusters(all.eks, bench.calling('eks')).describe(cluster));
      await answerOf(podExecutionRoles(all.iam, bench.calling('iam')).delete(RoleName.of('r')));
    } finally {
      hook.disable();
      delete process.env['AWS_CONFIG_FILE'];
    }
    expect(touched).to.deep.equal([]);
  });
});
