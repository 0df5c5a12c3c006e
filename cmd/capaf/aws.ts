import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  type AwsCredentialSource,
  type AwsCredentials,
  type AwsFailure,
  type AwsService,
  type AwsTransport,
  type FargateProfiles,
  describeFailure,
  fargateProfiles,
  iamRegionOf,
  isAccessDenied,
  isNotFound,
  newCallFactory,
  newClients,
  newLimiter,
  newManagerCredentialSource,
  newUncheckedHandler,
  readDenial,
  resolveEndpoints,
  toAwsFailure,
  undiciTransport,
} from '../../pkg/cloud/index.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import { withDeadline } from '../../pkg/async/deadline.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { environmentProxies } from '../../pkg/network/environment-proxy.ts';
import { systemRandom } from '../../pkg/env/system.ts';
import { VERSION } from '../../pkg/version.ts';
import { Failure, type Io } from './io.ts';

/** For STS and IAM where neither the caller nor an object names a region. */
export const FALLBACK_REGION = 'us-east-1';

/** The options of each command that asks AWS. Without them the SDK's default chain decides. */
export interface AwsOptions {
  /** A profile of the shared configuration files. */
  readonly profile?: string;
  readonly region?: string;
  /** A role that the credentials assume. */
  readonly roleArn?: string;
}

/** `unseen`: AWS does not answer or refuses; `why` names the IAM action that is missing. */
export type Answer<A> =
  { readonly kind: 'seen'; readonly value: A } | { readonly kind: 'unseen'; readonly why: string };

export type AwsAccess = ReturnType<typeof openAws>;

/** @throws Failure if the environment has wrong settings */
export function openAws({ profile, region, roleArn }: AwsOptions, io: Io) {
  const { env, signal } = io;
  const endpoints = resolveEndpoints({ serviceEndpoints: [], environment: env });
  if (isLeft(endpoints)) throw new Failure(endpoints.left);
  const proxies = environmentProxies(env);
  if (isLeft(proxies)) throw new Failure(proxies.left);
  const connections = undiciTransport({ proxyFor: proxies.right });
  const transport = readOnlyAws(withCallLimit(connections, io));
  const ownRegion = region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || undefined);
  const requestHandler = newUncheckedHandler(transport, signal);
  // The SDK reads the name of the profile from the environment of the process.
  if (profile !== undefined) process.env['AWS_PROFILE'] = profile;
  const chain = newManagerCredentialSource(transport, env, SILENT);
  const stsConfig = { ...(ownRegion !== undefined && { region: ownRegion }), requestHandler };
  const credentials = roleArn === undefined ? chain : assumedRole(chain, roleArn, stsConfig);
  let cached: Promise<AwsCredentials> | undefined;
  return {
    /** That of the option or of the environment; `undefined` if neither names one. */
    region: ownRegion,
    transport,
    endpoints: endpoints.right,
    credentials,
    /** What the constructor of each SDK client takes. */
    clientConfig: (service: AwsService, target: string) => {
      const endpoint = endpoints.right.urlFor(service, target);
      return {
        region: service === 'iam' ? iamRegionOf(target) : target,
        credentials: () => (cached ??= credentials.fetch(signal)),
        requestHandler,
        ...(endpoint !== undefined && { endpoint }),
      };
    },
    close: () => connections.close(),
  };
}

export const SILENT: Logger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {}, with: () => SILENT };

const assumedRole = (
  base: AwsCredentialSource,
  roleArn: string,
  clientConfig: { readonly region?: string; readonly requestHandler: ReturnType<typeof newUncheckedHandler> },
): AwsCredentialSource => ({
  key: roleArn,
  fetch: async (signal) => {
    const masterCredentials = async (): Promise<AwsCredentials> => base.fetch(signal);
    const params = { RoleArn: roleArn, RoleSessionName: 'capaf' };
    const { accessKeyId, secretAccessKey, sessionToken } = await fromTemporaryCredentials({
      masterCredentials,
      params,
      clientConfig,
    })();
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  },
});

export const valueOr = <A>(answer: Answer<A>, other: A): A => (answer.kind === 'seen' ? answer.value : other);

/** Sends a call, and tells why there is no answer. `action` is the IAM action that the call needs. */
export async function ask<A>(service: AwsService, action: string, call: () => Promise<A>): Promise<Answer<A>> {
  try {
    return { kind: 'seen', value: await call() };
  } catch (error) {
    return {
      kind: 'unseen',
      why: whyUnseen(toAwsFailure({ service, operation: action, progress: 'sent' }, error), action),
    };
  }
}

/** As {@link ask}; `undefined` is seen if AWS does not have what the call names. */
export const askFor = <A>(
  service: AwsService,
  action: string,
  call: () => Promise<A>,
): Promise<Answer<A | undefined>> =>
  ask(service, action, () =>
    call().catch((error: unknown) => {
      if (isNotFound(toAwsFailure({ service, operation: action, progress: 'sent' }, error))) return undefined;
      throw error;
    }),
  );

/** The user or role of the credentials. */
export interface Caller {
  readonly arn: string;
  readonly account: string;
}

/** With a wrong region, STS answers too: a partition has each account once. */
export const readCaller = (aws: AwsAccess, region = FALLBACK_REGION): Promise<Answer<Caller>> =>
  ask('sts', 'sts:GetCallerIdentity', async () => {
    const sts = new STSClient(aws.clientConfig('sts', aws.region ?? region));
    const { Arn: arn = '', Account: account = '' } = await sts.send(new GetCallerIdentityCommand({}));
    return { arn, account };
  });

/** The Fargate profiles of a region, with the deadlines and the decoders of the manager. */
export function openProfiles(
  aws: AwsAccess,
  region: string,
  { clock, signal }: Pick<Io, 'clock' | 'signal'>,
): Pick<FargateProfiles, 'describe' | 'list'> {
  const { credentials } = aws.clientConfig('eks', region);
  const { eks } = newClients({ ...aws, region, credentials, version: VERSION });
  const metrics = { recordCall: () => {}, recordWait: () => {}, watchCredentials: () => {} };
  const call = newCallFactory({ clock, limiter: newLimiter(clock), metrics }, 'eks', {
    rateLimitKeyPrefix: region,
    signal,
    mutationBudget: () => 0,
    polling: false,
    logger: SILENT,
  });
  return fargateProfiles(eks, call, systemRandom);
}

/** Names the IAM action that the credentials lack, also where AWS does not. */
export function whyUnseen(failure: AwsFailure, action: string): string {
  const said = describeFailure(failure);
  if (!isAccessDenied(failure)) return said;
  return `the credentials may not do ${readDenial(failure.message).action ?? action}: ${said}`;
}

/** The SDK has no limit of its own, and tries a call three times. */
const CALL_LIMIT: Ms = 10_000;

const withCallLimit = (transport: AwsTransport, { clock }: Pick<Io, 'clock'>): AwsTransport => ({
  handle: (request, options) =>
    withDeadline(clock, CALL_LIMIT, options.abortSignal, 'AWS', (abortSignal) =>
      transport.handle(request, { ...options, abortSignal }),
    ),
});

const READ_ACTION = /^(?:Get|List|Describe|Simulate|AssumeRole)[A-Za-z]*$/;

/** A program that only reads must not change AWS because of a mistake in its own code either. */
export const readOnlyAws = (transport: AwsTransport): AwsTransport => ({
  handle: async (request, options) => {
    const { method, path, body } = request;
    const action = new URLSearchParams(typeof body === 'string' ? body : '').get('Action') ?? '';
    if (method !== 'GET' && !(method === 'POST' && READ_ACTION.test(action)))
      throw new Error(`capaf only reads, and does not send ${method} ${path} ${action}`.trim());
    return transport.handle(request, options);
  },
});
