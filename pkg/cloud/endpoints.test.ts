import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { parseServiceEndpoints, resolveEndpoints, type Endpoints, type ServiceEndpoint } from './endpoints.ts';

const FORMAT = '${SigningRegion1}:${ServiceID1}=${URL},${ServiceID2}=${URL};${SigningRegion2}…';
const entry = (signingRegion: string, service: string, url: string): ServiceEndpoint => ({
  signingRegion,
  service,
  url,
});

describe('--service-endpoints', () => {
  const read: Readonly<Record<string, readonly ServiceEndpoint[]>> = {
    '': [],
    'us-iso:ec2=https://localhost:8080': [entry('us-iso', 'ec2', 'https://localhost:8080/')],
    'us-iso:eks=https://localhost:8080,sts=https://elbhost:8080': [
      entry('us-iso', 'eks', 'https://localhost:8080/'),
      entry('us-iso', 'sts', 'https://elbhost:8080/'),
    ],
    'us-iso:eks=https://a;gb-iso:eks=http://b/path': [
      entry('us-iso', 'eks', 'https://a/'),
      entry('gb-iso', 'eks', 'http://b/path'),
    ],
  };
  for (const [flag, wanted] of Object.entries(read)) {
    it(`accepts ${JSON.stringify(flag)}`, () => {
      expect(parseServiceEndpoints(flag)).to.deep.equal(E.right(wanted));
    });
  }

  const refused: Readonly<Record<string, string>> = {
    'us-isoec2=localhost': `part 1 does not begin with a signing region; the format is ${FORMAT}`,
    'https://localhost': `an endpoint of https is not of the form \${ServiceID}=\${URL}; the format is ${FORMAT}`,
    ':eks=https://a': `part 1 does not begin with a signing region; the format is ${FORMAT}`,
    'us-iso:eks=https://a;': `part 2 does not begin with a signing region; the format is ${FORMAT}`,
    'us-iso:eks': `an endpoint of us-iso is not of the form \${ServiceID}=\${URL}; the format is ${FORMAT}`,
    'us-iso:eks=fdsfs': 'the endpoint of eks in us-iso is not an http or https URL',
    'us-iso:eks=ftp://ann:secret@a': 'the endpoint of eks in us-iso is not an http or https URL',
    'us-iso:eks=https://a,eks=https://b': 'eks is named twice for the signing region us-iso',
    'us-iso:eks=https://a;us-iso:eks=https://b': 'eks is named twice for the signing region us-iso',
  };
  for (const [flag, error] of Object.entries(refused)) {
    it(`rejects ${JSON.stringify(flag)}`, () => {
      expect(parseServiceEndpoints(flag)).to.deep.equal(E.left(error));
    });
  }
});

describe('Endpoints', () => {
  function endpoints(
    environment: Readonly<Record<string, string>>,
    serviceEndpoints: readonly ServiceEndpoint[] = [],
  ): Endpoints {
    const resolved = resolveEndpoints({ serviceEndpoints, environment });
    if (E.isLeft(resolved)) throw new Error(resolved.left);
    return resolved.right;
  }

  it("default to AWS's own endpoints", () => {
    expect(endpoints({}).urlFor('eks', 'eu-west-1')).to.equal(undefined);
    expect(endpoints({ AWS_ENDPOINT_URL: '' }).urlFor('eks', 'eu-west-1')).to.equal(undefined);
  });

  it('come from the environment, with that of the service before the general one', () => {
    const all = endpoints({ AWS_ENDPOINT_URL: 'http://all', AWS_ENDPOINT_URL_IAM: 'http://iam' });
    expect(all.urlFor('eks', 'eu-west-1')).to.equal('http://all/');
    expect(all.urlFor('sts', 'eu-west-1')).to.equal('http://all/');
    expect(all.urlFor('iam', 'eu-west-1')).to.equal('http://iam/');
  });

  it('come from the command line before the environment, for their own region only', () => {
    const all = endpoints({ AWS_ENDPOINT_URL: 'http://all' }, [
      entry('us-east-1', 'eks', 'http://eks-us'),
      entry('eu-west-1', 'ec2', 'http://ec2-eu'),
    ]);
    expect(all.urlFor('eks', 'us-east-1')).to.equal('http://eks-us');
    expect(all.urlFor('eks', 'eu-west-1')).to.equal('http://all/');
    expect(all.urlFor('sts', 'us-east-1')).to.equal('http://all/');
  });

  it('for IAM, which is global, apply to their whole partition', () => {
    const all = endpoints({}, [entry('us-east-1', 'iam', 'http://iam')]);
    expect(all.urlFor('iam', 'eu-west-1')).to.equal('http://iam');
    expect(all.urlFor('iam', 'cn-north-1')).to.equal(undefined);
  });

  it('of the environment can be ignored, as in the SDKs', () => {
    const all = endpoints({ AWS_ENDPOINT_URL: 'http://all', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' });
    expect(all.urlFor('eks', 'eu-west-1')).to.equal(undefined);
  });

  it('can be FIPS or dual-stack endpoints', () => {
    expect(endpoints({})).to.include({ fips: false, dualStack: false });
    expect(endpoints({ AWS_USE_FIPS_ENDPOINT: 'true' })).to.include({ fips: true, dualStack: false });
    expect(endpoints({ AWS_USE_DUALSTACK_ENDPOINT: 'true' })).to.include({ fips: false, dualStack: true });
  });

  it('that are no URLs are rejected with a message that has no password', () => {
    expect(
      resolveEndpoints({ serviceEndpoints: [], environment: { AWS_ENDPOINT_URL_STS: 'ann:secret@localhost' } }),
    ).to.deep.equal(E.left('the environment variable AWS_ENDPOINT_URL_STS is not an http or https URL'));
  });
});
