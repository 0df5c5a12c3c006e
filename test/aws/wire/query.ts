import type { Output } from '../model/context.ts';
import type { AwsError } from '../model/errors.ts';
import type { Input } from '../model/input.ts';
import type { Service } from '../model/sts/principals.ts';
import type { WireResponse } from './http.ts';
import { escapeXml, toXml } from './xml.ts';

const namespaces: Readonly<Record<string, string>> = {
  iam: 'https://iam.amazonaws.com/doc/2010-05-08/',
  sts: 'https://sts.amazonaws.com/doc/2011-06-15/',
  cloudwatch: 'http://monitoring.amazonaws.com/doc/2010-08-01/',
};

type Tree = Map<string, Tree | string>;

/** Decodes the parameters of the query protocol: `Tags.member.1.Key=a` becomes `{Tags: [{Key: 'a'}]}`. */
export function readQueryInput(form: URLSearchParams): Input {
  const root: Tree = new Map();
  for (const [name, value] of form) {
    if (name === 'Action' || name === 'Version') continue;
    const parts = name.split('.');
    const last = parts.pop() ?? name;
    let node = root;
    for (const part of parts) {
      const known = node.get(part);
      const next: Tree = known instanceof Map ? known : new Map();
      node.set(part, next);
      node = next;
    }
    node.set(last, value);
  }
  return plainRecord(root);
}

function plainRecord(tree: Tree): Input {
  return Object.fromEntries([...tree].map(([key, value]) => [key, plain(value)]));
}

function plain(value: Tree | string): unknown {
  if (typeof value === 'string') return value;
  const members = value.get('member');
  if (!(members instanceof Map)) return plainRecord(value);
  return [...members].toSorted(([a], [b]) => Number(a) - Number(b)).map(([, member]) => plain(member));
}

export function queryAnswer(service: Service, operation: string, output: Output, requestId: string): WireResponse {
  if (service === 'ec2') {
    // EC2 has its own variant of the protocol.
    const xml = toXml(`${operation}Response`, { requestId, ...output });
    return xmlResponse(200, xml.replaceAll(/(?<=<\/?)member(?=>)/g, 'item'), requestId);
  }
  const result = Object.keys(output).length === 0 ? '' : toXml(`${operation}Result`, output);
  return xmlResponse(
    200,
    `<${operation}Response xmlns="${namespaces[service]}">${result}<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata></${operation}Response>`,
    requestId,
  );
}

export function queryError(service: Service, error: AwsError, requestId: string): WireResponse {
  if (service === 'ec2') {
    const { code: Code, message: Message } = error;
    return xmlResponse(
      error.status,
      toXml('Response', { Errors: { Error: { Code, Message } }, RequestID: requestId }),
      requestId,
    );
  }
  const type = error.status >= 500 ? 'Receiver' : 'Sender';
  return xmlResponse(
    error.status,
    `<ErrorResponse xmlns="${namespaces[service]}"><Error><Type>${type}</Type><Code>${escapeXml(error.code)}</Code><Message>${escapeXml(error.message)}</Message></Error><RequestId>${requestId}</RequestId></ErrorResponse>`,
    requestId,
  );
}

function xmlResponse(status: number, body: string, requestId: string): WireResponse {
  return { status, headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId }, body };
}
