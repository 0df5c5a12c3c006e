import * as E from 'fp-ts/lib/Either.js';
import { parseHttpUrl } from 'controller-runtime/network';
import type { AwsService } from './errors/failure.ts';
import { partitionOf } from './partition.ts';

/** One entry of the flag `--service-endpoints`. */
export interface ServiceEndpoint {
  readonly signingRegion: string;
  /** The ID of the service in the AWS SDKs: `eks`, `iam`, `sts`, `ec2`, … */
  readonly service: string;
  readonly url: string;
}

export interface Endpoints {
  /** Returns the configured endpoint. If there is none, returns `undefined`, and the SDK uses AWS's own endpoint. */
  urlFor(service: AwsService, region: string): string | undefined;
  /** `AWS_USE_FIPS_ENDPOINT`: use endpoints that are FIPS 140 validated. */
  readonly fips: boolean;
  /** `AWS_USE_DUALSTACK_ENDPOINT`: use endpoints that support both IPv4 and IPv6. */
  readonly dualStack: boolean;
}

const FORMAT = '${SigningRegion1}:${ServiceID1}=${URL},${ServiceID2}=${URL};${SigningRegion2}…';

/**
 * Parses `--service-endpoints` as CAPA does. Entries of services that this manager does not call are accepted, so that
 * both providers can use the same value. A Left is an error message for the command line, without the URLs, which may
 * contain passwords.
 */
export function parseServiceEndpoints(flag: string): E.Either<string, readonly ServiceEndpoint[]> {
  const endpoints: ServiceEndpoint[] = [];
  for (const [index, group] of (flag === '' ? [] : flag.split(';')).entries()) {
    const colon = group.indexOf(':');
    const signingRegion = group.slice(0, Math.max(colon, 0));
    if (!/^[a-z0-9-]+$/.test(signingRegion))
      return E.left(`part ${index + 1} does not begin with a signing region; the format is ${FORMAT}`);
    for (const pair of group.slice(colon + 1).split(',')) {
      const endpoint = parsePair(signingRegion, pair);
      if (E.isLeft(endpoint)) return endpoint;
      const { service } = endpoint.right;
      if (endpoints.some((other) => other.signingRegion === signingRegion && other.service === service))
        return E.left(`${service} is named twice for the signing region ${signingRegion}`);
      endpoints.push(endpoint.right);
    }
  }
  return E.right(endpoints);
}

function parsePair(signingRegion: string, pair: string): E.Either<string, ServiceEndpoint> {
  const [, service, url] = /^([a-z0-9.-]+)=(.+)$/.exec(pair) ?? [];
  if (service === undefined || url === undefined)
    return E.left(`an endpoint of ${signingRegion} is not of the form \${ServiceID}=\${URL}; the format is ${FORMAT}`);
  const endpoint = parseHttpUrl(url)?.href;
  return endpoint === undefined
    ? E.left(`the endpoint of ${service} in ${signingRegion} is not an http or https URL`)
    : E.right({ signingRegion, service, url: endpoint });
}

/** Each service with its part of the name AWS_ENDPOINT_URL_…. */
const SERVICES: readonly (readonly [AwsService, string])[] = [
  ['eks', 'EKS'],
  ['iam', 'IAM'],
  ['sts', 'STS'],
  ['ec2', 'EC2'],
  ['servicequotas', 'SERVICE_QUOTAS'],
  ['cloudwatch', 'CLOUDWATCH'],
];

interface EndpointSources {
  readonly serviceEndpoints: readonly ServiceEndpoint[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * `--service-endpoints` takes precedence over the environment variables of the AWS SDKs (`AWS_ENDPOINT_URL_EKS`, …,
 * `AWS_ENDPOINT_URL`). An entry of the flag applies to its own region only, so that the manager never looks for a
 * region's objects at another region's endpoint. An entry for IAM, which is global, applies to all regions of its
 * partition. A Left is an error message for the command line.
 */
export function resolveEndpoints({ serviceEndpoints, environment }: EndpointSources): E.Either<string, Endpoints> {
  const isTrue = (variable: string): boolean => environment[variable]?.toLowerCase() === 'true';
  const ignored = isTrue('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS');
  const configured = new Map<AwsService, string>();
  for (const [service, name] of SERVICES) {
    for (const variable of ['AWS_ENDPOINT_URL', `AWS_ENDPOINT_URL_${name}`]) {
      const text = ignored ? undefined : environment[variable];
      if (text === undefined || text === '') continue;
      const url = parseHttpUrl(text)?.href;
      if (url === undefined) return E.left(`the environment variable ${variable} is not an http or https URL`);
      configured.set(service, url);
    }
  }
  const applies = (endpoint: ServiceEndpoint, service: AwsService, region: string): boolean =>
    endpoint.service === service &&
    (service === 'iam'
      ? partitionOf(endpoint.signingRegion) === partitionOf(region)
      : endpoint.signingRegion === region);
  return E.right({
    urlFor: (service, region) =>
      serviceEndpoints.find((endpoint) => applies(endpoint, service, region))?.url ?? configured.get(service),
    fips: isTrue('AWS_USE_FIPS_ENDPOINT'),
    dualStack: isTrue('AWS_USE_DUALSTACK_ENDPOINT'),
  });
}
