import { textAt, tryJson } from 'controller-runtime/json';
import type { Clients } from './sdk-clients.ts';
import type { AwsConfig } from '../session.ts';

/** Sends requests to services whose SDK clients are not installed. The STS client signs them. */
export interface Sender extends Pick<AwsConfig, 'endpoints' | 'transport'>, Pick<Clients, 'sts'> {
  readonly region: string;
  readonly abortSignal: AbortSignal;
}

/** Each service's name in its host name and in signatures. */
const NAMES = { ec2: 'ec2', servicequotas: 'servicequotas', cloudwatch: 'monitoring' } as const;

/** Sends a request in AWS's query protocol, and returns the XML response. @throws the same errors as the SDK */
export async function sendQuery(
  sender: Sender,
  service: 'ec2' | 'cloudwatch',
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const { status, text } = await send(sender, service, headers, new URLSearchParams(parameters).toString());
  if (status === 200) return text;
  const [, name] = /<Code>([^<]*)</.exec(text) ?? [];
  const [, message] = /<Message>([^<]*)</.exec(text) ?? [];
  throw sdkError(status, name, message);
}

/** Uses the protocol AWS JSON 1.1. `target` contains the API and the operation. @throws the same errors as the SDK */
export async function sendJson(
  sender: Sender,
  service: 'servicequotas',
  target: string,
  input: Readonly<Record<string, string>>,
): Promise<unknown> {
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target };
  const { status, text } = await send(sender, service, headers, JSON.stringify(input));
  const answer = tryJson(text);
  if (status === 200) return answer;
  const name = textAt(answer, '__type')?.replace(/^.*#/, '');
  throw sdkError(status, name, textAt(answer, 'message') ?? textAt(answer, 'Message'));
}

const sdkError = (httpStatusCode: number, name: string | undefined, message: string | undefined): Error =>
  Object.assign(new Error(message), { name, $fault: 'client', $metadata: { httpStatusCode } });

async function send(
  { sts: { config }, endpoints, transport, region, abortSignal }: Sender,
  service: keyof typeof NAMES,
  ownHeaders: Readonly<Record<string, string>>,
  body: string,
) {
  const name = NAMES[service];
  const { fips, dualStack } = endpoints;
  const endpoint = { Region: region, UseFIPS: fips, UseDualStack: dualStack, UseGlobalEndpoint: false };
  const ofSts = config.endpointProvider(endpoint).url;
  const url = new URL(endpoints.urlFor(service, region) ?? ofSts.href.replace('//sts', `//${name}`));
  const { protocol, hostname, port, host, pathname: path } = url;
  const signer = await config.signer({ name: 'sigv4', signingName: name, signingRegion: region, properties: {} });
  const request = { method: 'POST', protocol, hostname, path, query: {}, headers: { host, ...ownHeaders }, body };
  const signed = await signer.sign({ ...request, ...(port !== '' && { port: Number(port) }) });
  const { response } = await transport.handle(signed, { abortSignal });
  const text = response.body instanceof Uint8Array ? new TextDecoder().decode(response.body) : '';
  return { status: response.statusCode, text };
}
