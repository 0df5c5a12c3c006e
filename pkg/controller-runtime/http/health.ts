import { notFound, type HttpHandler } from './http-server.ts';

export interface HealthCheck {
  readonly name: string;
  /** The problem in words for an operator; `undefined` when the check passes. */
  readonly check: () => string | undefined;
}

/** Passes as long as the process responds at all. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };

export interface HealthChecks {
  /** The kubelet restarts the container when one of these fails. */
  readonly healthz: readonly HealthCheck[];
  /** While one of these fails, the pod gets no traffic and does not count as available. */
  readonly readyz: readonly HealthCheck[];
}

/**
 * Serves `/healthz` and `/readyz` as controller-runtime does; `?verbose` lists the checks. Unlike controller-runtime,
 * shows why a check has failed. The reason contains no secrets.
 */
export function healthHandler(checks: HealthChecks): HttpHandler {
  return ({ path, query }) => {
    const [, root, ...rest] = path.replace(/\/$/, '').split('/');
    if ((root !== 'healthz' && root !== 'readyz') || rest.length > 0) return notFound;
    const results = checks[root].map(({ name, check }) => ({ name, wrong: check() }));
    const failed = results.some(({ wrong }) => wrong !== undefined);
    if (!failed && !query.has('verbose')) return { status: 200, body: 'ok' };
    const lines = results.map(({ name, wrong }) =>
      wrong === undefined ? `[+]${name} ok` : `[-]${name} failed: ${wrong}`,
    );
    const end = `${root} check ${failed ? 'failed' : 'passed'}`;
    return { status: failed ? 500 : 200, body: [...lines, end, ''].join('\n') };
  };
}
