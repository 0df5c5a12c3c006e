import { notFound, type HttpResponse, type HttpHandler, type HttpRequest } from './http-server.ts';

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
 * Serves `/healthz` and `/readyz` as controller-runtime does: `?verbose` lists the checks, `?exclude=x` skips one, and
 * `/readyz/x` runs one alone. Unlike there, a failed check shows its reason, which contains no secrets.
 */
export function healthHandler(checks: HealthChecks): HttpHandler {
  return (request) => {
    const [, root, name, ...rest] = request.path.split('/');
    if ((root !== 'healthz' && root !== 'readyz') || rest.length > 0) return notFound;
    const all = checks[root].length === 0 ? [ping] : checks[root];
    if (name === undefined || name === '') return runAllChecks(root, all, request);
    const check = all.find((one) => one.name === name);
    return check === undefined ? notFound : runOneCheck(check);
  };
}

function runOneCheck({ check }: HealthCheck): HttpResponse {
  const wrong = check();
  return wrong === undefined ? { status: 200, body: 'ok' } : { status: 500, body: `internal server error: ${wrong}\n` };
}

function runAllChecks(root: string, checks: readonly HealthCheck[], { query }: HttpRequest): HttpResponse {
  const excluded = new Set(query.getAll('exclude'));
  const unknown = [...excluded].filter((name) => !checks.some((check) => check.name === name));
  const results = checks.map((check) => {
    if (excluded.has(check.name)) return { failed: false, line: `[+]${check.name} excluded: ok` };
    const wrong = check.check();
    return wrong === undefined
      ? { failed: false, line: `[+]${check.name} ok` }
      : { failed: true, line: `[-]${check.name} failed: ${wrong}` };
  });
  const failed = results.some((result) => result.failed);
  const lines = results.map(({ line }) => line);
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed) return { status: 500, body: [...lines, `${root} check failed`, ''].join('\n') };
  if (!query.has('verbose')) return { status: 200, body: 'ok' };
  return { status: 200, body: [...lines, `${root} check passed`, ''].join('\n') };
}
