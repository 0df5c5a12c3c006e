import { expect } from 'chai';
import type { Transport, TransportRequest } from 'controller-runtime/client';
import type { AwsTransport } from '../../pkg/cloud/index.ts';
import { readOnlyAws } from './aws.ts';
import { readOnly } from './kube.ts';

const signal = new AbortController().signal;

describe('the connection of capaf to the API server', () => {
  const sent: string[] = [];
  const server: Transport = {
    host: 'api',
    send: async ({ method, path }) => {
      sent.push(`${method} ${path}`);
      return { status: 200, headers: {}, body: [] };
    },
  };
  const send = (method: TransportRequest['method'], path: string): Promise<unknown> =>
    readOnly(server).send({ method, path, headers: {}, signal });
  const PROFILE = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/a/awsfargateprofiles/web';
  const REVIEWS = '/apis/authorization.k8s.io/v1';

  for (const [method, path] of [
    ['GET', PROFILE],
    ['PATCH', `${PROFILE}?dryRun=All&fieldValidation=Strict`],
    ['POST', `${REVIEWS}/subjectaccessreviews`],
    ['POST', `${REVIEWS}/selfsubjectaccessreviews`],
  ] as const)
    it(`sends ${method} ${path}`, async () => {
      await send(method, path);
      expect(sent.at(-1)).to.equal(`${method} ${path}`);
    });

  it('rejects requests that could change an object before they are sent', async () => {
    const before = sent.length;
    for (const [method, path] of [
      ['PATCH', PROFILE],
      ['PATCH', `${PROFILE}?dryRun=None`],
      ['PATCH', `${PROFILE}?dryRun=All&dryRun=None`],
      ['PATCH', `${PROFILE}/dryRun=All`],
      ['DELETE', `${PROFILE}?dryRun=All`],
      ['POST', '/api/v1/namespaces/a/pods'],
      ['POST', `${REVIEWS}/subjectaccessreviews/x`],
    ] as const) {
      const error = await send(method, path).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(String(error)).to.equal(`Error: capaf only reads, and does not send ${method} ${path}`);
    }
    expect(sent).to.have.length(before);
  });
});

describe('the connection of capaf to AWS', () => {
  const sent: string[] = [];
  const aws = readOnlyAws({
    handle: async ({ method }) => {
      sent.push(method);
      return { response: { statusCode: 200, headers: {}, body: '' } };
    },
  });
  const send = async (method: string, body?: string, headers = {}): Promise<boolean> => {
    const request: Parameters<AwsTransport['handle']>[0] = {
      method,
      protocol: 'https:',
      hostname: 'aws',
      path: '/',
      headers,
      body,
    };
    const before = sent.length;
    await aws.handle(request, { abortSignal: signal }).catch(() => undefined);
    return sent.length > before;
  };

  const target = (operation: string) => ({ 'x-amz-target': `ServiceQuotasV20190624.${operation}` });

  it('sends read requests to each service, AssumeRole, and the policy simulation', async () => {
    expect(await send('GET')).to.equal(true);
    for (const action of [
      'GetRole',
      'ListRoles',
      'SimulatePrincipalPolicy',
      'AssumeRole',
      'GetCallerIdentity',
      'DescribeSubnets',
    ])
      expect(await send('POST', `Action=${action}&Version=2010-05-08`), action).to.equal(true);
    expect(await send('POST', '{}', target('GetServiceQuota'))).to.equal(true);
  });

  it('rejects all other requests before they are sent', async () => {
    for (const [method, body] of [
      ['POST', undefined],
      ['POST', '{"fargateProfileName":"web"}'],
      ['DELETE', undefined],
      ['PUT', 'Action=GetRole'],
      ['POST', 'Action=DeleteRole&Action=GetRole'],
      ['POST', 'Action=CreateRole&RoleName=Action%3DGetRole'],
      ['POST', 'RoleName=x&Action=TagRole'],
    ] as const)
      expect(await send(method, body), `${method} ${body}`).to.equal(false);
    expect(await send('POST', 'Action=GetRole', target('RequestServiceQuotaIncrease'))).to.equal(false);
  });
});
