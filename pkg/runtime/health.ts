import type { HttpAnswer, HttpHandler, HttpRequest } from './http-server.ts';
import { notFound } from './http-server.ts';

/** One named check. */
export interface HealthCheck {
  readonly name: string;
  /** What is wrong, in words for an operator; `undefined` when nothing is. */
  readonly check: () => string | undefined;
}

/** Passes as long as the process answers at all. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };

export interface HealthChecks {
  /** When one fails, the kubelet restarts the container. */
  readonly healthz: readonly HealthCheck[];
  /** When one fails, the pod gets no traffic and its Deployment does not count it as available. */
  readonly readyz: readonly HealthCheck[];
}

/**
 * `/healthz` and `/readyz` as controller-runtime serves them: 200 `ok` or 500; `?verbose` lists the checks, `?exclude=x`
 * leaves one out, `/readyz/x` asks for one alone. Unlike upstream the reason is not withheld: it holds no secrets, and
 * somebody who runs `curl` wants it.
 */
export function healthHandler(checks: HealthChecks): HttpHandler {
  return (request) => {
    const [, root, name, ...rest] = request.path.split('/');
    if ((root !== 'healthz' && root !== 'readyz') || rest.length > 0) return notFound;
    const all = checks[root].length === 0 ? [ping] : checks[root];
    if (name === undefined || name === '') return answerAll(root, all, request);
    const check = all.find((one) => one.name === name);
    return check === undefined ? notFound : answerOne(check);
  };
}

function answerOne({ check }: HealthCheck): HttpAnswer {
  const wrong = check();
  return wrong === undefined ? { status: 200, body: 'ok' } : { status: 500, body: `internal server error: ${wrong}\n` };
}

function answerAll(root: string, checks: readonly HealthCheck[], { query }: HttpRequest): HttpAnswer {
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
