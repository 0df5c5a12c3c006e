import { isRecord } from '../../../api/record.ts';
import type { AwsRequest, AwsResponse, AwsTransport, SendOptions } from '../transport.ts';

export type Answer = AwsResponse | Promise<AwsResponse>;

/** AWS as a test has it: answers in the same process, in the order or by the rule that the test gives. */
export class FakeTransport implements AwsTransport {
  /** What was sent, in order. */
  readonly requests: AwsRequest[] = [];
  /** Answers each request; may be replaced at any time. */
  answer: (request: AwsRequest, signal: AbortSignal) => Answer;

  constructor(answer: (request: AwsRequest, signal: AbortSignal) => Answer = () => silence()) {
    this.answer = answer;
  }

  /** Gives one answer after the other, then fails. */
  static inOrder(...answers: readonly AwsResponse[]): FakeTransport {
    const left = [...answers];
    return new FakeTransport(() => {
      const next = left.shift();
      if (next === undefined) throw new Error('more requests than answers');
      return next;
    });
  }

  async handle(request: AwsRequest, { abortSignal, beforeSend }: SendOptions): Promise<{ response: AwsResponse }> {
    beforeSend?.();
    this.requests.push(request);
    return { response: await this.answer(request, abortSignal) };
  }

  /** The form that the n-th request to IAM or STS carries, or the JSON of one to EKS. */
  body(index: number): Readonly<Record<string, unknown>> {
    const { body } = this.requests[index] ?? {};
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : typeof body === 'string' ? body : '';
    const read: unknown = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    return isRecord(read) ? read : {};
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Never comes, and does not listen to any signal. */
export const silence = (): Promise<AwsResponse> => new Promise(() => {});

export const json = (body: unknown, statusCode = 200): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'application/json', 'x-amzn-requestid': 'request-1' },
  body: bytes(JSON.stringify(body)),
});

/** A refusal of EKS. */
export const eksError = (code: string, message: string, statusCode: number): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': code, 'x-amzn-requestid': 'request-1' },
  body: bytes(JSON.stringify({ message })),
});

/** An answer of IAM or STS; `content` is the XML inside of the result element. */
export const result = (operation: string, content = ''): AwsResponse => ({
  statusCode: 200,
  headers: { 'content-type': 'text/xml', 'x-amzn-requestid': 'request-1' },
  body: bytes(
    `<${operation}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/">` +
      (content === '' ? '' : `<${operation}Result>${content}</${operation}Result>`) +
      `<ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata></${operation}Response>`,
  ),
});

/** A refusal of IAM or STS. */
export const queryError = (code: string, message: string, statusCode: number): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'text/xml' },
  body: bytes(
    '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">' +
      `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>` +
      '<RequestId>request-1</RequestId></ErrorResponse>',
  ),
});

/** A page of a proxy or load balancer. */
export const page = (statusCode: number, text = '<html><body><br>oops</body></html>'): AwsResponse => ({
  statusCode,
  headers: { 'content-type': 'text/html' },
  body: bytes(text),
});
