import { AwsError } from '../model/errors.ts';
import { findOperation } from '../model/model.ts';
import type { Model } from '../model/model.ts';
import type { Input } from '../model/input.ts';
import type { Principal, Service } from '../model/principals.ts';
import { eksAnswer, eksError, routeEks } from './eks.ts';
import type { WireRequest, WireResponse } from './http.ts';
import { queryAnswer, queryError, readQueryInput } from './query.ts';
import { readScope } from './sigv4.ts';
import type { Scope } from './sigv4.ts';

/** A request understood as far as it could be. */
export interface Received {
  readonly requestId: string;
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly mutates: boolean;
  readonly scope?: Scope;
  readonly principal?: Principal;
  /** Why it never reaches the service. */
  readonly refusal?: AwsError;
}

/** `error` is what the response says, for the call log. */
export interface Answered {
  readonly response: WireResponse;
  readonly error?: AwsError;
}

interface Understood {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly refusal?: AwsError;
}

/** Reads who asks for what. Never throws for what a client did wrong. */
export function receive(model: Model, request: WireRequest, now: number): Received {
  const requestId = model.world.env.uuid();
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

function understand(request: WireRequest): Understood {
  if (request.path !== '/') {
    try {
      return { service: 'eks', ...routeEks(request) };
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      return { service: 'eks', operation: 'Unknown', input: {}, refusal: error };
    }
  }
  const form = new URLSearchParams(request.body);
  const service = form.get('Version') === '2011-06-15' ? 'sts' : 'iam';
  return { service, operation: form.get('Action') ?? 'Unknown', input: readQueryInput(form) };
}

/** Lets the model act and puts its answer into the service's protocol. */
export function respond(model: Model, received: Received, now: number): Answered {
  const { service, operation, input, scope, principal, requestId } = received;
  if (received.refusal !== undefined) return refuse(received, received.refusal);
  if (scope === undefined || principal === undefined) throw new Error('a request without refusal has a principal');
  const answer = model.execute({ service, operation, input, principal, region: scope.region, now });
  if (answer.kind === 'error') return refuse(received, answer.error);
  const { output } = answer;
  return {
    response: service === 'eks' ? eksAnswer(output, requestId) : queryAnswer(service, operation, output, requestId),
  };
}

export function refuse({ service, requestId }: Received, error: AwsError): Answered {
  return {
    response: service === 'eks' ? eksError(error, requestId) : queryError(service, error, requestId),
    error,
  };
}

/** The whole of AWS as one function over the model. */
export function handle(model: Model, request: WireRequest, now: number): WireResponse {
  return respond(model, receive(model, request, now), now).response;
}
