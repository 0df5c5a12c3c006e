import { expect } from 'chai';
import { KubeError } from '../pkg/kube/errors.ts';
import { refusalIn } from './refusals.ts';

const DOING = 'patching awsfargateprofiles.infrastructure.cluster.x-k8s.io team-a/web';
const said = (status: number, reason: string, words: string): KubeError =>
  new KubeError(`${DOING}: ${words}`, { status, reason });

const unreachable = (webhook: string): KubeError =>
  said(
    500,
    'InternalError',
    `Internal error occurred: failed calling webhook "${webhook}": failed to call webhook: Post "https://x.capa-system.svc:443/validate?timeout=10s": dial tcp 10.96.0.7:443: connect: connection refused`,
  );

describe('refusalIn', () => {
  for (const [what, error, cure] of [
    [
      'an admission webhook that nobody serves',
      unreachable('policy.example.com'),
      /^Bring the service of the webhook "policy\.example\.com" back, or remove its entry from the webhook configuration$/,
    ],
    [
      'the entry that Cluster API Provider AWS brings and does not serve',
      unreachable('validation.awsfargateprofile.infrastructure.cluster.x-k8s.io'),
      /^Remove the entries default\.awsfargateprofile\S+ and validation\.awsfargateprofile\S+ from the webhook configurations/,
    ],
    [
      'an admission webhook that says no',
      said(403, 'Forbidden', 'admission webhook "policy.example.com" denied the request: no'),
      /^Let the manager through in what serves the admission webhook "policy\.example\.com"$/,
    ],
    [
      'one that says no with a code of its own',
      said(400, 'BadRequest', 'admission webhook "policy.example.com" denied the request: no'),
      /^Let the manager through/,
    ],
    [
      'a policy of the API server’s own that says no, with a status of its choice',
      said(409, 'Invalid', "ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: no changes today"),
      /^Let the manager through in ValidatingAdmissionPolicy "frozen"$/,
    ],
    [
      'a conversion webhook that nobody serves',
      said(
        500,
        'InternalError',
        'conversion webhook for cluster.x-k8s.io/v1beta1, Kind=Cluster failed: Post "https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s": no endpoints available',
      ),
      /^Bring the service of the webhook back that converts Cluster objects/,
    ],
    [
      'a missing permission',
      said(
        403,
        'Forbidden',
        'User "capaf" cannot list resource "awsfargateprofiles" in API group "x" at the cluster scope',
      ),
      /^Apply the manager's roles and role bindings again/,
    ],
    ['a quota', said(403, 'Forbidden', 'exceeded quota: objects, requested: 1'), /^Raise the ResourceQuota/],
    ['credentials that it does not know', said(401, 'Unauthorized', 'Unauthorized'), /^Give the manager credentials/],
    ['a rule of the CRD', said(422, 'Invalid', 'spec.x: Invalid value'), /^Mend what the API server names/],
  ] as const)
    it(`finds the cure for ${what}`, () => {
      const refusal = refusalIn(error);
      expect(refusal?.words).to.equal(error.message);
      expect(refusal?.cure).to.match(cure);
    });

  for (const [what, error] of [
    ['no answer', new KubeError(`${DOING}: no answer`, { status: 0, reason: 'NoAnswer' })],
    ['somebody else’s write', said(409, 'Conflict', 'the object has been modified')],
    ['an object that is gone', said(404, 'NotFound', 'not found')],
    ['a kind that is not served', said(404, 'NotServed', '404 page not found')],
    ['a server that is busy', said(429, 'TooManyRequests', 'too many requests')],
    ['a server in trouble', said(500, 'InternalError', 'etcdserver: request timed out')],
    ['a server that is not there yet', said(503, 'ServiceUnavailable', 'apiserver not ready')],
    ['a mistake of ours', new TypeError('x is not a function')],
  ] as const)
    it(`takes ${what} for none: it passes by itself, or is nothing to be mended there`, () =>
      expect(refusalIn(error)).to.equal(undefined));

  it('leaves room for the cure where a webhook says a lot', () => {
    const refusal = refusalIn(
      said(403, 'Forbidden', `admission webhook "x" denied the request: ${'no, '.repeat(500)}`),
    );
    expect(refusal?.words).to.have.length(601).and.to.match(/…$/);
  });

  it('says the same from try to try, whatever port a connection went out from', () => {
    const broken = (port: number): KubeError =>
      said(
        500,
        'InternalError',
        `failed calling webhook "x": read tcp 10.0.0.5:${port}->10.96.0.7:443: connection reset`,
      );
    expect(refusalIn(broken(41_234))).to.deep.equal(refusalIn(broken(53_111)));
  });
});
