import { expect } from 'chai';
import { seededEnv } from '../model/env.ts';
import { Model } from '../model/model.ts';
import { handle } from './handle.ts';
import type { WireRequest, WireResponse } from './http.ts';

const now = 1_700_000_000_500;
const account = '123456789012';

function authorization(accessKeyId: string, region: string, service: string): string {
  const scope = `${accessKeyId}/20231114/${region}/${service}/aws4_request`;
  return `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`;
}

describe('the AWS protocols', () => {
  let model: Model;

  beforeEach(() => {
    model = new Model(seededEnv(1));
    model.principals.register({ account, accessKeyId: 'me' });
  });

  const send = (change: Partial<WireRequest>): WireResponse =>
    handle(model, { method: 'GET', path: '/', query: new URLSearchParams(), headers: {}, body: '', ...change }, now);
  const eks = (method: string, path: string, body = '', region = 'us-east-1'): WireResponse =>
    send({ method, path, body, headers: { authorization: authorization('me', region, 'eks') } });
  const iam = (form: string, region = 'us-east-1', service = 'iam', accessKeyId = 'me'): WireResponse =>
    send({
      method: 'POST',
      body: `Version=2010-05-08&${form}`,
      headers: { authorization: authorization(accessKeyId, region, service) },
    });

  it('refuse an unsigned request in the protocol of its service', () => {
    const json = send({ path: '/clusters/c' });
    expect([json.status, json.headers['x-amzn-errortype']]).to.deep.equal([403, 'MissingAuthenticationToken']);
    expect(JSON.parse(json.body)).to.deep.equal({ message: 'Request is missing Authentication Token' });
    const xml = send({ method: 'POST', body: 'Action=GetRole&Version=2010-05-08' });
    expect(xml.status).to.equal(403);
    expect(xml.body).to.contain('<Code>MissingAuthenticationToken</Code>');
  });

  it('refuse a request signed for another service, or for a wrong IAM region', () => {
    expect(iam('Action=GetRole&RoleName=r', 'us-east-1', 'sts').body).to.contain('<Code>SignatureDoesNotMatch</Code>');
    expect(iam('Action=GetRole&RoleName=r', 'eu-west-1').body).to.contain('<Code>SignatureDoesNotMatch</Code>');
    model.principals.register({ account: '999999999999', accessKeyId: 'cn', partition: 'aws-cn' });
    const inChina = iam('Action=GetRole&RoleName=r', 'cn-north-1', 'iam', 'cn');
    expect(inChina.body).to.contain('<Code>NoSuchEntity</Code>');
    expect(iam('Action=GetRole&RoleName=r', 'cn-north-1').body).to.contain('<Code>InvalidClientTokenId</Code>');
    const foreign = send({ path: '/clusters/c', headers: { authorization: authorization('me', 'us-east-1', 's3') } });
    expect(foreign.headers['x-amzn-errortype']).to.equal('SignatureDoesNotMatch');
    const broken = send({ path: '/clusters/c', headers: { authorization: 'Basic abc' } });
    expect(broken.headers['x-amzn-errortype']).to.equal('IncompleteSignature');
  });

  it('encode EKS errors with type header, request id and the members of the service model', () => {
    const response = eks('GET', '/clusters/nope');
    expect(response.status).to.equal(404);
    expect(response.headers['x-amzn-errortype']).to.equal('ResourceNotFoundException');
    expect(response.headers['x-amzn-requestid']).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(JSON.parse(response.body)).to.deep.equal({
      clusterName: 'nope',
      message: 'No cluster found for name: nope.',
    });
  });

  it('encode times as seconds in JSON and as ISO 8601 in XML', () => {
    model.state.region(model.state.account(account), 'us-east-1').subnets.set('s', {
      id: 's',
      vpcId: 'v',
      availabilityZone: 'us-east-1a',
      isPublic: false,
    });
    const created = eks('POST', '/clusters', JSON.stringify({ name: 'c', resourcesVpcConfig: { subnetIds: ['s'] } }));
    expect(JSON.parse(created.body)).to.have.nested.property('cluster.createdAt', 1_700_000_000.5);
    const trust = '{"Statement":{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}}';
    const role = iam(`Action=CreateRole&RoleName=r&AssumeRolePolicyDocument=${encodeURIComponent(trust)}`);
    expect(role.body).to.contain('<CreateDate>2023-11-14T22:13:20Z</CreateDate>');
  });

  it('keep an encoded slash inside its path segment', () => {
    const arn = `arn:aws:eks:us-east-1:${account}:cluster/c`;
    expect(eks('GET', `/tags/${encodeURIComponent(arn)}`).headers['x-amzn-errortype']).to.equal('NotFoundException');
    expect(eks('GET', `/tags/${arn}`).headers['x-amzn-errortype']).to.equal('UnknownOperationException');
    expect(eks('GET', '/tags/%E0%A4%A').headers['x-amzn-errortype']).to.equal('SerializationException');
  });

  it('refuse bodies other than JSON objects, and members of the wrong type', () => {
    for (const body of ['{', '[]', '"x"', '{"fargateProfileName":7}']) {
      const response = eks('POST', '/clusters/c/fargate-profiles', body);
      expect([response.status, response.headers['x-amzn-errortype']], body).to.deep.equal([
        400,
        'SerializationException',
      ]);
    }
  });

  it('read lists of the query protocol in numeric order', () => {
    iam(
      `Action=CreateRole&RoleName=r&AssumeRolePolicyDocument=${encodeURIComponent('{"Statement":[]}')}` +
        '&Tags.member.10.Key=j&Tags.member.10.Value=1&Tags.member.2.Key=b&Tags.member.2.Value=%3C%26%3E',
    );
    const { body } = iam('Action=ListRoleTags&RoleName=r');
    // The role does not exist: IAM has refused the CreateRole request, because a tag in the request has the value
    // `<&>`.
    expect(body).to.contain('<Code>NoSuchEntity</Code>');
    iam(
      `Action=CreateRole&RoleName=r&AssumeRolePolicyDocument=${encodeURIComponent('{"Statement":[]}')}` +
        '&Tags.member.10.Key=j&Tags.member.10.Value=1&Tags.member.2.Key=b&Tags.member.2.Value=2',
    );
    expect(iam('Action=ListRoleTags&RoleName=r').body).to.contain(
      '<Tags><member><Key>b</Key><Value>2</Value></member><member><Key>j</Key><Value>1</Value></member></Tags>',
    );
  });

  it('escape XML characters', () => {
    const { body } = iam(`Action=GetRole&RoleName=${encodeURIComponent(`<&"'>`)}`);
    expect(body).not.to.contain('<&');
    const created = iam(
      `Action=CreateRole&RoleName=r&Description=${encodeURIComponent(`<a> & "b" 'c'`)}` +
        `&AssumeRolePolicyDocument=${encodeURIComponent('{"Statement":[]}')}`,
    );
    expect(created.body).to.contain('<Description>&lt;a&gt; &amp; &quot;b&quot; &apos;c&apos;</Description>');
  });

  it('encode keys such as __proto__ as plain members', () => {
    const created = eks('POST', '/clusters', '{"name":"c","tags":{"__proto__":"x","constructor":"y"}}');
    expect(created.status).to.equal(200);
    expect(created.body).to.contain('"__proto__":"x"').and.to.contain('"constructor":"y"');
    const unknown = iam('Action=constructor');
    expect([unknown.status, unknown.body.includes('InvalidAction')]).to.deep.equal([400, true]);
  });
});
