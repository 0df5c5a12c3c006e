import * as E from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import { withDeadline } from 'controller-runtime/async';
import { isForbidden, isNotServed, KubeError } from 'controller-runtime/client';
import { type Ms, systemRandom } from 'controller-runtime/env';
import { KubeconfigError } from 'controller-runtime/kubeconfig';
import type { Logger } from 'controller-runtime/log';
import { errorMessage } from 'controller-runtime/text';
import type { EksClusterName } from '../../api/names.ts';
import * as cloud from '../../pkg/cloud/index.ts';
import { VERSION } from '../../pkg/version.ts';
import { Failure, type Io } from './io.ts';
import { actionOf, track, trackAws } from './progress.ts';

/** The region for STS and IAM if neither the caller nor an object sets one. */
export const FALLBACK_REGION = 'us-east-1';

/** By default, the AWS SDK's chain finds credentials, and AWS_REGION or AWS_DEFAULT_REGION sets the region. */
export interface AwsOptions {
  readonly profile?: string;
  readonly region?: string;
  readonly roleArn?: string;
}

/** A Left says why there is no answer. */
export type Answer<A> = E.Either<string, A>;

/**
 * Thrown if a part of the answer cannot be read, for example because AWS denies a request, or the region is not known.
 * If a permission is missing, the message contains the IAM action.
 */
export class Unseen extends Failure {}

/**
 * Returns a Left if AWS cannot be read, or if Kubernetes denies a permission or does not serve a kind: then only this
 * part of the answer is missing. Any other error ends the command.
 */
export async function attempt<A>(read: () => Promise<A>): Promise<Answer<A>> {
  try {
    return E.right(await read());
  } catch (error) {
    if (error instanceof Unseen || isForbidden(error) || isNotServed(error)) return E.left(errorMessage(error));
    throw error;
  }
}

/** Like {@link attempt}, but also returns a Left if a cluster does not respond or an object is missing. */
export async function tolerate<A>(signal: AbortSignal, read: () => Promise<A>): Promise<Answer<A>> {
  try {
    return E.right(await read());
  } catch (error) {
    const isExpected = error instanceof Failure || error instanceof KubeError || error instanceof KubeconfigError;
    if (signal.aborted || !isExpected) throw error;
    return E.left(errorMessage(error));
  }
}

/** @throws Unseen if `region` is undefined */
export function requireRegion(region: string | undefined): string {
  if (region === undefined) throw new Unseen('the AWS region is not known; name it with --region');
  return region;
}

/** Returns AWS's answer. @throws Unseen if the call fails */
export async function seen<A>(call: cloud.Call<A>): Promise<A> {
  const answer = await call;
  if (E.isLeft(answer)) throw unseen(answer.left);
  return answer.right;
}

function unseen(failure: cloud.AwsFailure): Unseen {
  const said = cloud.describeFailure(failure);
  if (!cloud.isAccessDenied(failure)) return new Unseen(said);
  const action = cloud.readDenial(failure.message).action ?? `${failure.service}:${failure.operation}`;
  return new Unseen(`the credentials may not do ${action}: ${said}`);
}

export type Asked<A> = readonly [what: string, answer: Answer<A | undefined>];

export const seenIn = <A>(asked: readonly Asked<A>[]): readonly A[] =>
  asked.flatMap(([, answer]) => (E.isRight(answer) && answer.right !== undefined ? [answer.right] : []));

export const unseenIn = (asked: readonly Asked<unknown>[]): readonly string[] =>
  asked.flatMap(([what, answer]) => (E.isLeft(answer) ? [`${what}: ${answer.left}`] : []));

export function openAws({ profile, region, roleArn }: AwsOptions, { clock, env, signal, progress }: Io) {
  const endpoints = cloud.resolveEndpoints({ serviceEndpoints: [], environment: env });
  if (E.isLeft(endpoints)) throw new Failure(endpoints.left);
  const connected = cloud.connectToAws(env);
  if (E.isLeft(connected)) throw new Failure(connected.left);
  const connections = connected.right;
  const transport = trackAws(readOnlyAws(connections), progress);
  // The SDK reads the profile name from the process's environment.
  if (profile !== undefined) process.env['AWS_PROFILE'] = profile;
  const manager = cloud.newManagerCredentialSource(transport, env, SILENT);
  const fetch: typeof manager.fetch = (stop) =>
    track(progress, 'AWS credentials', manager.fetch(stop)).catch((cause: unknown) => {
      const message = `capaf has no AWS credentials: ${errorMessage(cause)}`;
      throw new cloud.NoCredentials({ reason: 'CredentialsMissing', message }, { cause });
    });
  const credentials = { ...manager, fetch };
  const ownRegion = region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || undefined);
  const options = { clock, signal, transport, endpoints: endpoints.right, credentials, region: ownRegion, roleArn };
  return { ...newAwsAccess(options), [Symbol.asyncDispose]: () => connections.close() };
}

export const SILENT: Logger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {}, with: () => SILENT };

/** Longer than any command runs, so that unused credentials stay cached. */
const RESYNC: Ms = 10 * 60_000;
/** The deadline of one call of `ask` or `askSigned`, which may list several pages. */
const CALL_LIMIT: Ms = 30_000;

export type AwsAccess = ReturnType<typeof newAwsAccess>;

interface AccessOptions extends Pick<cloud.AwsConfig, 'clock' | 'transport' | 'endpoints'> {
  readonly credentials: cloud.AwsCredentialSource;
  readonly region: string | undefined;
  readonly roleArn?: string | undefined;
  readonly signal: AbortSignal;
}

/** Returns access to AWS like the manager's, but always with the user's credentials or the role of --role-arn. */
export function newAwsAccess({ credentials, region, roleArn, signal, ...options }: AccessOptions) {
  const config = {
    ...options,
    region,
    signal,
    logger: SILENT,
    limiter: cloud.newRateLimiter(options.clock),
    metrics: cloud.awsMetrics(new Registry()),
    pool: new cloud.CredentialPool(options.clock, signal, RESYNC),
    version: VERSION,
  };
  const accounts = new cloud.CallerAccounts(config);
  const assume = (arn: string): cloud.AwsCredentialSource => {
    const role = { arn, sessionName: 'capaf', durationSeconds: cloud.DEFAULT_DURATION_SECONDS, policyArns: [] };
    return cloud.newAssumedRoleSource(
      { ...config, accounts },
      { key: arn, role, base: credentials, baseName: 'capaf' },
    );
  };
  const source = roleArn === undefined ? credentials : assume(roleArn);
  const sources = { find: async () => E.right(source) };
  const sessions = cloud.newSessions({ ...config, random: systemRandom, sources, accounts });
  async function open(target: string): Promise<cloud.Session> {
    const request = { region: target, identity: undefined, namespace: '', signal, mutationBudget: () => 0 };
    const session = await sessions.open(request);
    if (E.isRight(session)) return session.right;
    throw session.left.failure ? unseen(session.left.failure) : new Unseen(session.left.message);
  }
  /** Sends a call that the sessions of pkg/cloud do not provide. @throws Unseen */
  async function ask<A>(
    service: cloud.AwsService,
    operation: string,
    target: string,
    call: (clients: cloud.Clients, abortSignal: AbortSignal) => Promise<A>,
  ): Promise<A> {
    const clients = cloud.newClients({ ...config, region: target, credentials: () => config.pool.get(source) });
    const dispatch = { beforeDispatch: () => {}, beforeSend: () => {}, onDate: () => {} };
    const send = (abortSignal: AbortSignal): Promise<A> =>
      cloud.withDispatchOptions({ ...dispatch, abortSignal }, () => call(clients, abortSignal));
    return withDeadline(config.clock, CALL_LIMIT, signal, 'AWS', send).catch((error: unknown) => {
      throw unseen(cloud.toAwsFailure({ service, operation, progress: 'sent' }, error));
    });
  }
  /** Sends a call to an AWS service for which capaf has no SDK client. @throws Unseen */
  const askSigned = <A>(
    service: cloud.AwsService,
    operation: string,
    target: string,
    call: (sender: cloud.Sender) => Promise<A>,
  ): Promise<A> => {
    const { transport, endpoints } = options;
    return ask(service, operation, target, ({ sts }, abortSignal) =>
      call({ sts, transport, endpoints, region: target, abortSignal }),
    );
  };
  return { region, sessions, open, ask, askSigned };
}

export const OTHER_CREDENTIALS = 'Choose other credentials with --profile or --role-arn';

/** @throws Unseen */
export async function listProfiles({ profiles, region }: cloud.Session, cluster: EksClusterName) {
  const listing = await seen(profiles.list(cluster));
  if (listing.kind === 'listed') return listing.names;
  throw new Unseen(
    `AWS has no EKS cluster ${cluster} in ${region}; check the region, which --region or an object names, and the account of the credentials`,
  );
}

/** @throws Unseen */
export async function readProfiles(session: cloud.Session, cluster: EksClusterName) {
  const names = await listProfiles(session, cluster);
  const lookups = await Promise.all(names.map((name) => seen(session.profiles.describe(cluster, name))));
  return lookups.flatMap((lookup) => (lookup.kind === 'found' ? [lookup.profile] : []));
}

/**
 * `account` is the account in the objects' status, if known. The credentials must belong to it, because another account
 * may have an EKS cluster of the same name. @throws Unseen
 */
export async function readEks(
  aws: AwsAccess,
  name: EksClusterName,
  region: string | undefined,
  account: string | undefined,
) {
  const session = await aws.open(requireRegion(region));
  if (account === undefined || account === session.account)
    return { session, profiles: await readProfiles(session, name) };
  throw new Unseen(
    `EKS cluster ${name} is in account ${account}, and the credentials are of ${session.account}. ${OTHER_CREDENTIALS}`,
  );
}

/** The result omits subnets that do not exist. @throws Unseen */
export const readFreeAddresses = (aws: AwsAccess, region: string, subnets: readonly string[]) =>
  aws.askSigned('ec2', 'DescribeSubnets', region, (sender) => cloud.readFreeAddresses(sender, subnets));

const READ_ACTION = /^(?:Get|List|Describe|Simulate|AssumeRole)[A-Za-z]*$/;

/** Refuses every request that changes AWS, so that a bug in this read-only program cannot change AWS. */
export const readOnlyAws = (transport: cloud.AwsTransport): cloud.AwsTransport => ({
  handle: async (request, options) => {
    const { method, path } = request;
    const action = actionOf(request);
    if (method !== 'GET' && !(method === 'POST' && READ_ACTION.test(action)))
      throw new Error(`capaf only reads, and does not send ${method} ${path} ${action}`.trim());
    return transport.handle(request, options);
  },
});
