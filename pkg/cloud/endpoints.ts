import * as E from 'fp-ts/lib/Either.js';
import type { AwsService } from './failure.ts';
import { partitionOf } from './partition.ts';

/** One entry of `--service-endpoints`. */
export interface ServiceEndpoint {
  readonly signingRegion: string;
  /** AWS' name of a service in the SDKs: `eks`, `iam`, `sts`, `ec2`, … */
  readonly service: string;
  readonly url: string;
}

/** Where the services are reached. */
export interface Endpoints {
  /** `undefined` for where AWS has it. */
  of(service: AwsService, region: string): string | undefined;
  /** Of AWS' own endpoints, those that are FIPS 140 validated (`AWS_USE_FIPS_ENDPOINT`). */
  readonly fips: boolean;
  /** Of AWS' own endpoints, those that speak IPv6 too (`AWS_USE_DUALSTACK_ENDPOINT`). */
  readonly dualStack: boolean;
}

const FORMAT = '${SigningRegion1}:${ServiceID1}=${URL},${ServiceID2}=${URL};${SigningRegion2}…';

/**
 * Reads `--service-endpoints` as Cluster API Provider AWS does. Entries of services that this manager does not call are
 * read too, so that one value serves both. The error is a sentence for the command line.
 */
export function parseServiceEndpoints(flag: string): E.Either<string, readonly ServiceEndpoint[]> {
  const endpoints: ServiceEndpoint[] = [];
  for (const group of flag === '' ? [] : flag.split(';')) {
    const colon = group.indexOf(':');
    const signingRegion = group.slice(0, Math.max(colon, 0));
    if (!/^[a-z0-9-]+$/.test(signingRegion)) {
      return E.left(`${quoted(group)} does not begin with a signing region; the format is ${FORMAT}`);
    }
    for (const pair of group.slice(colon + 1).split(',')) {
      const endpoint = parsePair(signingRegion, pair);
      if (E.isLeft(endpoint)) {
        return endpoint;
      }
      const { service } = endpoint.right;
      if (endpoints.some((other) => other.signingRegion === signingRegion && other.service === service)) {
        return E.left(`${service} is named twice for the signing region ${signingRegion}`);
      }
      endpoints.push(endpoint.right);
    }
  }
  return E.right(endpoints);
}

function parsePair(signingRegion: string, pair: string): E.Either<string, ServiceEndpoint> {
  const [, service, url] = /^([a-z0-9.-]+)=(.+)$/.exec(pair) ?? [];
  if (service === undefined || url === undefined) {
    return E.left(`${quoted(pair)} is not of the form \${ServiceID}=\${URL}; the format is ${FORMAT}`);
  }
  const endpoint = parseUrl(url);
  return endpoint === undefined
    ? E.left(`${quoted(url)}, the endpoint of ${service} in ${signingRegion}, is not an http or https URL`)
    : E.right({ signingRegion, service, url: endpoint });
}

export interface EndpointSources {
  readonly serviceEndpoints: readonly ServiceEndpoint[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Endpoints of the command line before those of the environment (`AWS_ENDPOINT_URL_EKS`, …, `AWS_ENDPOINT_URL`), which
 * the SDKs share. An entry of the command line counts for its own region alone, for the global IAM for its partition:
 * one region's objects are never looked for in another's. The error is a sentence for the command line.
 */
export function resolveEndpoints({ serviceEndpoints, environment }: EndpointSources): E.Either<string, Endpoints> {
  const isTrue = (variable: string): boolean => environment[variable]?.toLowerCase() === 'true';
  const ignored = isTrue('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS');
  const configured = new Map<AwsService, string>();
  for (const service of ['eks', 'iam', 'sts'] as const) {
    for (const variable of ['AWS_ENDPOINT_URL', `AWS_ENDPOINT_URL_${service.toUpperCase()}`]) {
      const text = ignored ? undefined : environment[variable];
      if (text === undefined || text === '') {
        continue;
      }
      const url = parseUrl(text);
      if (url === undefined) {
        return E.left(`${variable} is ${quoted(text)}, which is not an http or https URL`);
      }
      configured.set(service, url);
    }
  }
  const applies = (endpoint: ServiceEndpoint, service: AwsService, region: string): boolean =>
    endpoint.service === service &&
    (service === 'iam'
      ? partitionOf(endpoint.signingRegion) === partitionOf(region)
      : endpoint.signingRegion === region);
  return E.right({
    of: (service, region) =>
      serviceEndpoints.find((endpoint) => applies(endpoint, service, region))?.url ?? configured.get(service),
    fips: isTrue('AWS_USE_FIPS_ENDPOINT'),
    dualStack: isTrue('AWS_USE_DUALSTACK_ENDPOINT'),
  });
}

function parseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : undefined;
}

const quoted = (text: string): string => JSON.stringify(text);
