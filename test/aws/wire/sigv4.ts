import { AwsError } from '../model/errors.ts';
import type { Service } from '../model/sts/principals.ts';
import type { WireRequest } from './http.ts';

/**
 * The access key, region and service that the Authorization header of a request to AWS names. The AWS emulator does not
 * verify the signature.
 */
export interface Scope {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: Service;
  readonly sessionToken?: string;
}

const credential =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, ?SignedHeaders=([^,\s]+), ?Signature=[0-9a-f]{64}$/;

/** The services by the name in the request's signature. */
const SERVICES = new Map<string, Service>([
  ['eks', 'eks'],
  ['iam', 'iam'],
  ['sts', 'sts'],
  ['ec2', 'ec2'],
  ['servicequotas', 'servicequotas'],
  ['monitoring', 'cloudwatch'],
]);

/**
 * Returns the region for which requests to the AWS service must be signed. IAM is global, so its requests are signed
 * for one fixed region of each partition.
 */
function signingRegion(service: Service, region: string): string {
  if (service !== 'iam') return region;
  if (region.startsWith('cn-')) return 'cn-north-1';
  return region.startsWith('us-gov-') ? 'us-gov-west-1' : 'us-east-1';
}

/**
 * Reads the access key, region and service for which a request is signed.
 * @throws the error of AWS if the request is unsigned, has a malformed Authorization header, or is signed for an
 * unknown service or a wrong region
 */
export function readScope(request: WireRequest): Scope {
  const header = request.headers['authorization'];
  if (header === undefined) {
    throw new AwsError('MissingAuthenticationToken', 403, 'Request is missing Authentication Token');
  }
  const parts = credential.exec(header);
  const [, accessKeyId, , region, name] = parts ?? [];
  if (accessKeyId === undefined || region === undefined || name === undefined) {
    throw new AwsError('IncompleteSignature', 400, `${header.slice(0, 40)} not a valid Authorization header`);
  }
  const service = SERVICES.get(name);
  if (service === undefined) {
    throw new AwsError('SignatureDoesNotMatch', 403, `Credential should be scoped to correct service: '${name}'.`);
  }
  if (signingRegion(service, region) !== region) {
    throw new AwsError('SignatureDoesNotMatch', 403, `Credential should be scoped to a valid region. `);
  }
  const sessionToken = request.headers['x-amz-security-token'];
  return { accessKeyId, region, service, ...(sessionToken === undefined ? {} : { sessionToken }) };
}
