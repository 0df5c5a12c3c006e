import {
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  Observable,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  wrapHttpLibrary,
  type ConfigurationOptions,
  type RequestContext,
} from '@kubernetes/client-node';
import type { Clock, Ms } from '../env/clock.ts';
import { withDeadline } from '../env/deadline.ts';
import { refusal } from './decode.ts';
import { KubeError } from './errors.ts';
import { readText, type Method, type Transport } from './transport.ts';

const DEADLINE: Ms = 30_000;
/** The transport knows the server; the generated code only wants some base for its URLs. */
const BASE = 'https://kubernetes.invalid';

export interface TypedApis {
  readonly core: CoreV1Api;
  readonly coordination: CoordinationV1Api;
  readonly authentication: AuthenticationV1Api;
  readonly authorization: AuthorizationV1Api;
}

/**
 * client-node's generated APIs of the built-in kinds on our transport, each call with a deadline. Use them for what is
 * read or written whole: they drop fields that they do not know, so never to write back an object that others extend.
 *
 * They throw {@link KubeError}, as {@link KubeClient} does. Pass {@link boundTo} as a call's options to make it stop early.
 */
export function typedApis(transport: Transport, clock: Clock): TypedApis {
  const send = async (request: RequestContext): Promise<ResponseContext> => {
    const method = methodOf(request);
    const { pathname, search } = new URL(request.getUrl());
    const doing = `${method} ${pathname}`;
    const body = request.getBody();
    if (body !== undefined && typeof body !== 'string') throw new TypeError(`${doing}: only text can be sent`);
    const answer = await withDeadline(clock, DEADLINE, request.getSignal(), 'the API server', async (signal) => {
      const sent = { method, path: pathname + search, headers: request.getHeaders(), signal };
      const response = await transport.send(body === undefined ? sent : { ...sent, body });
      return { status: response.status, headers: response.headers, text: await readText(response.body) };
    }).catch((cause: unknown) => {
      throw new KubeError(`${doing}: no answer`, { status: 0, reason: 'NoAnswer', cause });
    });
    if (answer.status < 200 || answer.status > 299) throw refusal(doing, method, answer);
    const content = new SelfDecodingBody(Promise.resolve(Buffer.from(answer.text)));
    return new ResponseContext(answer.status, { ...answer.headers }, content);
  };
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(BASE, {}),
    // The transport authenticates.
    authMethods: {},
    httpApi: wrapHttpLibrary({ send }),
  });
  return {
    core: new CoreV1Api(configuration),
    coordination: new CoordinationV1Api(configuration),
    authentication: new AuthenticationV1Api(configuration),
    authorization: new AuthorizationV1Api(configuration),
  };
}

/** Options of one call: it ends when the signal aborts. */
export function boundTo(signal: AbortSignal): ConfigurationOptions {
  const middleware = {
    pre: (request: RequestContext) => {
      request.setSignal(signal);
      return new Observable(Promise.resolve(request));
    },
    post: (response: ResponseContext) => new Observable(Promise.resolve(response)),
  };
  return { middlewareMergeStrategy: 'append', middleware: [middleware] };
}

function methodOf(request: RequestContext): Method {
  const method: string = request.getHttpMethod();
  switch (method) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
      return method;
    default:
      throw new TypeError(`the API server is not asked with ${method}`);
  }
}
