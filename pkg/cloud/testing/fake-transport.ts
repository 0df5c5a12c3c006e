import { isRecord } from 'controller-runtime/json';
import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from '../transport/transport.ts';

type FakeResponse = AwsResponse | Promise<AwsResponse>;

/** Responds to the SDK's requests inside the test process, with the test's responses. */
export class FakeTransport implements AwsTransport {
  readonly requests: AwsRequest[] = [];
  /** Responds to each request of the SDK. A test may replace this function at any time. */
  respond: (request: AwsRequest, signal: AbortSignal) => FakeResponse;

  constructor(respond: (request: AwsRequest, signal: AbortSignal) => FakeResponse = () => neverRespond()) {
    this.respond = respond;
  }

  /**
   * Returns a transport that answers each request with the next of the given responses, and throws when none is left.
   */
  static inOrder(...responses: readonly AwsResponse[]): FakeTransport {
    const left = [...responses];
    return new FakeTransport(() => {
      const next = left.shift();
      if (next === undefined) throw new Error('more requests than responses');
      return next;
    });
  }

  async handle(request: AwsRequest, { abortSignal, beforeSend }: SendOptions): Promise<{ response: AwsResponse }> {
    beforeSend?.();
    this.requests.push(request);
    return { response: await this.respond(request, abortSignal) };
  }

  /**
   * Returns the body of the request with the given index, counted from 0: the form fields of a request to IAM or STS,
   * or the JSON of a request to EKS.
   */
  body(index: number): Readonly<Record<string, unknown>> {
    const { body } = this.requests[index] ?? {};
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : typeof body === 'string' ? body : '';
    const read: unknown = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    return isRecord(read) ? read : {};
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An AWS response that never arrives, even when a signal aborts the request. */
export const neverRespond = (): Promise<AwsResponse> => new Promise(() => {});

export const jsonResponse = (body: unknown): AwsResponse => ({
  statusCode: 200,
  headers: { 'content-type': 'application/json', 'x-amzn-requestid': 'request-1' },
  body: bytes(JSON.stringify(body)),
});

export const eksError = (code: string, message: string, statusCode: number): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': code, 'x-amzn-requestid': 'request-1' },
  body: bytes(JSON.stringify({ message })),
});

/** Returns an IAM or STS response. `content` is the XML inside the result element. */
export const queryResponse = (operation: string, content = ''): AwsResponse => ({
  statusCode: 200,
  headers: { 'content-type': 'text/xml', 'x-amzn-requestid': 'request-1' },
  body: bytes(
    `<${operation}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/">` +
      (content === '' ? '' : `<${operation}Result>${content}</${operation}Result>`) +
      `<ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata></${operation}Response>`,
  ),
});

export const queryError = (code: string, message: string, statusCode: number): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'text/xml' },
  body: bytes(
    '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">' +
      `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>` +
      '<RequestId>request-1</RequestId></ErrorResponse>',
  ),
});

/** Returns the HTML page of a proxy or load balancer. */
export const proxyPage = (statusCode: number, text = '<html><body><br>oops</body></html>'): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'text/html' },
  body: bytes(text),
});
