import { textAt } from '../../api/record.ts';
import { aborted, pause } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { HealthCheck } from './http/health.ts';
import type { Runnable } from './runnable.ts';
import { KubeError } from '../kube/errors.ts';
import type { KubeClient } from '../kube/types.ts';

/**
 * The oldest minor version of Kubernetes 1 whose API server accepts the CRD, whose rules use `optionalOldSelf`: that needs
 * the feature CRDValidationRatcheting, off in 1.28 and 1.29, and on from 1.30.
 */
export const OLDEST_MINOR = 30;
/** After no answer. */
const RETRY_DELAY: Ms = 5_000;
/** After a version that is too old, so that the manager needs no restart when the API server is upgraded. */
const UPGRADE_POLL: Ms = 60_000;

/** The problem if the version that `/version` reports is too old; `undefined` if it is supported or unknown. */
export function tooOld(version: unknown): string | undefined {
  // Some distributions report a minor version such as "30+", of which only the number counts.
  const [major, minor] = [textAt(version, 'major'), textAt(version, 'minor')].map((part) =>
    Number.parseInt(part ?? '', 10),
  );
  if (major !== 1 || minor === undefined || Number.isNaN(minor) || minor >= OLDEST_MINOR) return undefined;
  const name = textAt(version, 'gitVersion') ?? `v1.${minor}`;
  return `the API server is Kubernetes ${name}, but this provider needs v1.${OLDEST_MINOR} or newer; upgrade the management cluster`;
}

/** Makes the manager not ready while the API server is too old. */
export class ServerVersionCheck implements Runnable, HealthCheck {
  readonly name = 'kubernetes-version';
  private readonly options: { readonly client: KubeClient; readonly clock: Clock; readonly logger: Logger };
  private problem: string | undefined;

  constructor(options: ServerVersionCheck['options']) {
    this.options = options;
  }

  readonly check = (): string | undefined => this.problem;

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = await this.ask(signal);
      await (next === 'done' ? aborted(signal) : pause(this.options.clock, next, signal));
    }
  }

  /** Returns the delay until the next question. */
  private async ask(signal: AbortSignal): Promise<Ms | 'done'> {
    const { client, logger } = this.options;
    try {
      const problem = tooOld(await client.discover('/version', { signal }));
      if (problem !== this.problem && problem !== undefined) logger.error('The API server is too old', problem);
      this.problem = problem;
      return problem === undefined ? 'done' : UPGRADE_POLL;
    } catch (error) {
      // An API server that forbids the question ends the check, unless it was too old before. Other errors, such as 503
      // while the API server is upgraded, pass.
      if (!(error instanceof KubeError) || error.status !== 403) return RETRY_DELAY;
      return this.problem === undefined ? 'done' : UPGRADE_POLL;
    }
  }
}
