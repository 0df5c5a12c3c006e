import type { Transport } from 'controller-runtime/client';
import type { Ms, Timer } from 'controller-runtime/env';
import { toPrintableLine } from 'controller-runtime/text';
import type { AwsTransport } from '../../pkg/cloud/index.ts';
import type { Io } from './io.ts';

const INTERVAL: Ms = 1_000;

/** The unanswered requests, in the order in which they were sent. */
export type Progress = Set<{ readonly what: string }>;

/** Prints to stderr each second which request the command has been waiting for longest, if that has changed. */
export function showProgress({ clock, err }: Io, progress: Progress): { readonly end: () => void } {
  let shown = '';
  const wait = (): Timer =>
    clock.after(INTERVAL, () => {
      const [oldest] = progress;
      if (oldest !== undefined && oldest.what !== shown) err(`Waiting for ${toPrintableLine(oldest.what)} …\n`);
      shown = oldest?.what ?? '';
      timer = wait();
    });
  let timer = wait();
  return { end: () => timer.cancel() };
}

export function track<A>(progress: Progress | undefined, what: string, answer: Promise<A>): Promise<A> {
  const request = { what };
  progress?.add(request);
  return answer.finally(() => progress?.delete(request));
}

/** Returns the action of a request. Returns `''` for EKS, where the method and the path determine the action. */
export function actionOf({ headers, body }: Parameters<AwsTransport['handle']>[0]): string {
  const target = headers['x-amz-target']?.replace(/^.*\./, '');
  return target ?? new URLSearchParams(typeof body === 'string' ? body : '').get('Action') ?? '';
}

export const trackAws = (transport: AwsTransport, progress: Progress | undefined): AwsTransport => ({
  handle: (request, options) => {
    const { method, hostname, port, path } = request;
    const action = actionOf(request) || `${method} ${path}`;
    const host = port === undefined ? hostname : `${hostname}:${port}`;
    return track(progress, `AWS (${host}): ${action}`, transport.handle(request, options));
  },
});

export const trackKube = (transport: Transport, progress: Progress | undefined): Transport => ({
  host: transport.host,
  send: (request) => {
    const what = `the API server (${transport.host}): ${request.method} ${request.path.replace(/\?.*/, '')}`;
    return track(progress, what, transport.send(request));
  },
});
