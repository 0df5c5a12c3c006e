import { AwsError } from '../model/errors.ts';
import { type Model, findOperation } from '../model/model.ts';
import type { Input } from '../model/input.ts';
import { type Principal, type Service, isJson } from '../model/sts/principals.ts';
import { eksAnswer, eksError, jsonError, readJson, routeEks } from './eks.ts';
import type { WireRequest, WireResponse } from './http.ts';
import { queryAnswer, queryError, readQueryInput } from './query.ts';
import { type Scope, readScope } from './sigv4.ts';

/**
 * An AWS call that the AWS emulator has decoded from an HTTP request. The call is authenticated unless it has a
 * `refusal`.
 */
export interface ReceivedCall {
  readonly requestId: string;
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly mutates: boolean;
  readonly scope?: Scope;
  readonly principal?: Principal;
  /**
   * The error with which AWS refuses the call before the service executes it; undefined: the emulator may execute the
   * call.
   */
  readonly refusal?: AwsError;
}

/** An answer of the AWS emulator. `error` is the AWS error that the HTTP response contains; the call log records it. */
export interface WireAnswer {
  readonly response: WireResponse;
  readonly error?: AwsError;
}

interface RoutedCall {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly refusal?: AwsError;
}

/**
 * Decodes and authenticates a request to the AWS emulator. For an invalid request, returns a call with the AWS error as
 * its `refusal`.
 */
export function receive(model: Model, request: WireRequest, now: number): ReceivedCall {
  const requestId = model.state.env.uuid();
  const understood = understand(request);
  const { service, operation } = understood;
  const known = { requestId, mutates: findOperation(service, operation)?.mutates ?? false };
  try {
    const scope = readScope(request);
    if (scope.service !== service) {
      const message = `Credential should be scoped to correct service: '${service}'. `;
      throw new AwsError('SignatureDoesNotMatch', 403, message);
    }
    const principal = model.principals.authenticate(service, scope, now);
    return { ...known, ...understood, scope, principal };
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return { ...known, ...understood, refusal: error };
  }
}

/** The services by the version of their APIs. */
const SERVICES: Readonly<Record<string, Service>> = {
  '2011-06-15': 'sts',
  '2016-11-15': 'ec2',
  '2010-08-01': 'cloudwatch',
};

function understand(request: WireRequest): RoutedCall {
  if (request.path !== '/') {
    try {
      return { service: 'eks', ...routeEks(request) };
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      return { service: 'eks', operation: 'Unknown', input: {}, refusal: error };
    }
  }
  const target = request.headers['x-amz-target'];
  if (target !== undefined) return { service: 'servicequotas', ...readJson(target, request.body) };
  const form = new URLSearchParams(request.body);
  const service = SERVICES[form.get('Version') ?? ''] ?? 'iam';
  return { service, operation: form.get('Action') ?? 'Unknown', input: readQueryInput(form) };
}

/** Executes an AWS call and encodes the answer in the protocol of the AWS service. */
export function respond(model: Model, received: ReceivedCall, now: number): WireAnswer {
  const { service, operation, input, scope, principal, requestId } = received;
  if (received.refusal !== undefined) return refuse(received, received.refusal);
  if (scope === undefined || principal === undefined) throw new Error('a request without refusal has a principal');
  const answer = model.execute({ service, operation, input, principal, region: scope.region, now });
  if (answer.kind === 'error') return refuse(received, answer.error);
  const { output } = answer;
  return {
    response: isJson(service) ? eksAnswer(output, requestId) : queryAnswer(service, operation, output, requestId),
  };
}

export function refuse({ service, requestId }: ReceivedCall, error: AwsError): WireAnswer {
  if (service === 'servicequotas') return { response: jsonError(error, requestId), error };
  return {
    response: service === 'eks' ? eksError(error, requestId) : queryError(service, error, requestId),
    error,
  };
}
