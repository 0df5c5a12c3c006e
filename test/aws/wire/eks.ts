import type { Output } from '../model/context.ts';
import { AwsError, eksErrors } from '../model/errors.ts';
import { type Input, isRecord } from '../model/input.ts';
import { Instant } from '../model/time.ts';
import type { WireRequest, WireResponse } from './http.ts';

export interface RoutedOperation {
  readonly operation: string;
  readonly input: Input;
}

interface Route {
  readonly method: string;
  readonly path: RegExp;
  readonly operation: string;
  /**
   * The names of the input members that a request path contains. The n-th member gets the text of the n-th capture
   * group of the regular expression `path`.
   */
  readonly members: readonly string[];
  readonly query?: (query: URLSearchParams) => Input;
}

const segment = '([^/]+)';

function paging(query: URLSearchParams): Input {
  const maxResults = query.get('maxResults');
  const nextToken = query.get('nextToken');
  return { ...(maxResults === null ? {} : { maxResults }), ...(nextToken === null ? {} : { nextToken }) };
}

function route(method: string, path: string, operation: string, members: readonly string[]): Route {
  return { method, path: new RegExp(`^${path}$`), operation, members };
}

const profiles = `/clusters/${segment}/fargate-profiles`;

const accessEntries = `/clusters/${segment}/access-entries`;

const routes: readonly Route[] = [
  route('POST', profiles, 'CreateFargateProfile', ['clusterName']),
  { ...route('GET', profiles, 'ListFargateProfiles', ['clusterName']), query: paging },
  route('GET', `${profiles}/${segment}`, 'DescribeFargateProfile', ['clusterName', 'fargateProfileName']),
  route('DELETE', `${profiles}/${segment}`, 'DeleteFargateProfile', ['clusterName', 'fargateProfileName']),
  route('POST', accessEntries, 'CreateAccessEntry', ['clusterName']),
  route('GET', `${accessEntries}/${segment}`, 'DescribeAccessEntry', ['clusterName', 'principalArn']),
  route('DELETE', `${accessEntries}/${segment}`, 'DeleteAccessEntry', ['clusterName', 'principalArn']),
  route('GET', `/clusters/${segment}`, 'DescribeCluster', ['name']),
  route('DELETE', `/clusters/${segment}`, 'DeleteCluster', ['name']),
  route('POST', `/tags/${segment}`, 'TagResource', ['resourceArn']),
  {
    ...route('DELETE', `/tags/${segment}`, 'UntagResource', ['resourceArn']),
    query: (query) => ({ tagKeys: query.getAll('tagKeys') }),
  },
];

// The regular expressions of the EKS routes match the percent-encoded path, because an ARN in the path can contain an
// encoded slash.
export function routeEks(request: WireRequest): RoutedOperation {
  for (const { method, path, operation, members, query } of routes) {
    const groups = method === request.method ? path.exec(request.path) : null;
    if (groups === null) continue;
    const named = members.map((member, index) => [member, decode(groups[index + 1] ?? '')] as const);
    return {
      operation,
      input: { ...readBody(request), ...query?.(request.query), ...Object.fromEntries(named) },
    };
  }
  throw new AwsError('UnknownOperationException', 404, `Unknown operation ${request.method} ${request.path}`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw eksErrors.serialization('The path is not percent-encoded UTF-8.');
  }
}

/** Reads a request of the protocol AWS JSON 1.1, whose header X-Amz-Target contains the operation. */
export const readJson = (target: string, body: string): RoutedOperation => ({
  operation: target.replace(/^.*\./, ''),
  input: readBody({ body }),
});

function readBody(request: Pick<WireRequest, 'body'>): Input {
  if (request.body === '') return {};
  let body: unknown;
  try {
    body = JSON.parse(request.body);
  } catch {
    throw eksErrors.serialization('The body is not JSON.');
  }
  if (!isRecord(body)) throw eksErrors.serialization('The body is not an object.');
  return body;
}

export function eksAnswer(output: Output, requestId: string): WireResponse {
  return jsonResponse(200, toJson(output), {}, requestId);
}

export function eksError(error: AwsError, requestId: string): WireResponse {
  return jsonResponse(
    error.status,
    { ...error.members, message: error.message },
    { 'x-amzn-errortype': error.code },
    requestId,
  );
}

/** Returns an error response in the protocol AWS JSON 1.1. */
export function jsonError({ code, message, status }: AwsError, requestId: string): WireResponse {
  return jsonResponse(status, { __type: code, Message: message }, {}, requestId);
}

// Converts the output of an EKS operation to JSON values. EKS encodes times as seconds since the epoch.
function toJson(value: unknown): unknown {
  if (value instanceof Instant) return value.ms / 1000;
  if (Array.isArray(value)) return value.map(toJson);
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member)]));
  return value;
}

function jsonResponse(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  requestId: string,
): WireResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-amzn-requestid': requestId, ...headers },
    body: JSON.stringify(body),
  };
}
