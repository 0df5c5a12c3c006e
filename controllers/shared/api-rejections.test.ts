import { expect } from 'chai';
import { KubeError } from 'controller-runtime/client';
import { apiRejectionFrom, partsOfRejection } from './api-rejections.ts';
import { joinParts, RETRIES } from './message.ts';

const DOING = 'patching awsfargateprofiles.infrastructure.cluster.x-k8s.io team-a/web';
const said = (status: number, reason: string, message: string): KubeError =>
  new KubeError(`${DOING}: ${message}`, { status, reason });

const failedCall = (webhook: string, problem: string): KubeError =>
  said(
    500,
    'InternalError',
    `Internal error occurred: failed calling webhook "${webhook}": failed to call webhook: Post "https://x.capa-system.svc:443/validate?timeout=10s": ${problem}`,
  );
const unreachable = (webhook: string): KubeError =>
  failedCall(webhook, 'dial tcp 10.96.0.7:443: connect: connection refused');
const unserved = (webhook: string): KubeError =>
  failedCall(webhook, 'the server could not find the requested resource');

describe('apiRejectionFrom', () => {
  for (const [what, error, remedy] of [
    [
      'an admission webhook without a running service',
      unreachable('policy.example.com'),
      /^Check that the pods behind Service capa-system\/x are running\. If you no longer need the webhook "policy\.example\.com", remove it from its webhook configuration$/,
    ],
    [
      'a webhook of Cluster API Provider AWS without a running service',
      unreachable('validation.awsfargateprofile.infrastructure.cluster.x-k8s.io'),
      /^If Cluster API Provider AWS is installed with its feature gate EKSFargate on, check that its manager is running\. Otherwise remove the webhooks default\.awsfargateprofile\S+ and validation\.awsfargateprofile\S+ from the webhook configurations of Cluster API Provider AWS$/,
    ],
    [
      'a webhook of Cluster API Provider AWS whose server does not serve it',
      unserved('validation.awsfargateprofile.infrastructure.cluster.x-k8s.io'),
      /^The webhook server is running but does not serve this webhook, usually because the feature gate EKSFargate of Cluster API Provider AWS is off\. If it is to stay off, remove the webhooks default\.awsfargateprofile\S+ and validation\.awsfargateprofile\S+ from the webhook configurations of Cluster API Provider AWS$/,
    ],
    [
      'an admission webhook whose server does not serve it',
      unserved('policy.example.com'),
      /^Fix the webhook "policy\.example\.com", or remove it from its webhook configuration$/,
    ],
    [
      'an admission webhook that denies',
      said(409, 'Conflict', 'admission webhook "policy.example.com" denied the request: no'),
      /^Change the admission webhook "policy\.example\.com" so that it allows this request$/,
    ],
    [
      'a ValidatingAdmissionPolicy that denies with another status',
      said(409, 'Invalid', "ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: no changes today"),
      /^Change ValidatingAdmissionPolicy "frozen" so that it allows this request$/,
    ],
    [
      'a conversion webhook without a running service',
      said(
        500,
        'InternalError',
        'conversion webhook for cluster.x-k8s.io/v1beta1, Kind=Cluster failed: Post "https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s": no endpoints available',
      ),
      /^Fix the conversion webhook for Cluster objects$/,
    ],
    [
      'a missing permission',
      said(
        403,
        'Forbidden',
        'User "capaf" cannot list resource "awsfargateprofiles" in API group "x" at the cluster scope',
      ),
      /^Apply the roles and role bindings of the manager again/,
    ],
    [
      'an exceeded ResourceQuota',
      said(403, 'Forbidden', 'exceeded quota: objects, requested: 1'),
      /^Raise the ResourceQuota/,
    ],
    ['rejected credentials of the manager', said(401, 'Unauthorized', 'Unauthorized'), /^Give the manager credentials/],
    [
      'a rule of the CRD',
      said(422, 'Invalid', 'spec.x: Invalid value'),
      /^Fix the problem that the API server reports/,
    ],
  ] as const)
    it(`names the remedy for ${what}`, () => {
      const refusal = apiRejectionFrom(error);
      expect(refusal?.message).to.equal(error.message);
      expect(refusal?.remedy).to.match(remedy);
    });

  for (const [what, error] of [
    ['no answer', new KubeError(`${DOING}: no answer`, { status: 0, reason: 'NoAnswer' })],
    ['a write by another client', said(409, 'Conflict', 'the object has been modified')],
    ['an object that is gone', said(404, 'NotFound', 'not found')],
    ['a kind that is not served', said(404, 'NotServed', '404 page not found')],
    ['a busy server', said(429, 'TooManyRequests', 'too many requests')],
    ['a failing server', said(500, 'InternalError', 'etcdserver: request timed out')],
    ['a server that starts', said(503, 'ServiceUnavailable', 'apiserver not ready')],
    ['a programming error', new TypeError('x is not a function')],
  ] as const)
    it(`does not report ${what}`, () => expect(apiRejectionFrom(error)).to.equal(undefined));

  it('has a text that fits into the 1024 bytes of an Event, even with the longest remedy', () => {
    const webhook = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';
    const rejection =
      apiRejectionFrom(said(500, 'InternalError', `failed calling webhook "${webhook}": ${'no, '.repeat(500)}`)) ??
      expect.fail('no rejection');
    const text = joinParts({ ...partsOfRejection(rejection), outlook: RETRIES });
    expect(Buffer.byteLength(text)).to.be.at.most(1024);
  });

  it('gives equal messages for connections from different local ports', () => {
    const broken = (port: number): KubeError =>
      said(
        500,
        'InternalError',
        `failed calling webhook "x": read tcp 10.0.0.5:${port}->10.96.0.7:443: connection reset`,
      );
    expect(apiRejectionFrom(broken(41_234))).to.deep.equal(apiRejectionFrom(broken(53_111)));
  });
});
