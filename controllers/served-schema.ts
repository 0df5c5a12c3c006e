import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { GROUP, PLURAL } from '../api/v1beta2/index.ts';
import type { Clock, Ms } from '../pkg/env/clock.ts';
import type { Logger } from '../pkg/env/logger.ts';
import { isForbidden, isNotServed } from '../pkg/kube/errors.ts';
import type { KubeClient, Resource } from '../pkg/kube/types.ts';
import type { SchemaVerdict } from './schema-is-ours.ts';
import { schemaIsOurs } from './schema-is-ours.ts';

const CRDS: Resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const OUR_CRD = { namespace: '', name: `${PLURAL}.${GROUP}` };
/** What takes nothing away may go by what was read so long ago: many passes, one request. */
const LATELY: Ms = 10_000;
/** One request for the few calls that remove a profile and its role. */
const JUST_NOW: Ms = 1_000;

/** What a human can do about a foreign schema. */
export const REMEDY =
  'Apply the CRD of cluster-api-provider-aws-fargate again (kubectl apply --server-side --force-conflicts -k config/crd), and then your AWSFargateProfiles, from which the other one drops fields';

export type ServedVerdict =
  | SchemaVerdict
  /** The manager may not read the CRD. */
  | { readonly kind: 'unreadable'; readonly why: string };

export interface SchemaMetrics {
  foreign(is: boolean): void;
}

export function schemaMetrics(registry: Registry): SchemaMetrics {
  const gauge = new Gauge({
    name: 'capaf_foreign_schema',
    help: '1 while the API server serves AWSFargateProfiles with the CRD of somebody else, which loses what this provider needs.',
    registers: [registry],
  });
  gauge.set(0);
  return { foreign: (is) => gauge.set(is ? 1 : 0) };
}

/**
 * The schema with which the API server serves AWSFargateProfiles right now. Releases of Cluster API Provider AWS bring a
 * CRD of the same name, and clusterctl lets the last provider that was installed or upgraded win.
 */
export class ServedSchema {
  private readonly client: KubeClient;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly metrics: SchemaMetrics;
  private last: { readonly verdict: ServedVerdict; readonly at: Ms } | undefined;
  private looking: Promise<ServedVerdict> | undefined;

  constructor(options: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: SchemaMetrics;
  }) {
    this.client = options.client;
    this.clock = options.clock;
    this.logger = options.logger;
    this.metrics = options.metrics;
  }

  /** What was found a moment ago, or is found now. Throws what the API server, or its silence, makes of the question. */
  async look(signal: AbortSignal): Promise<ServedVerdict> {
    return this.newerThan(JUST_NOW) ?? this.lookOnce(signal);
  }

  /** What was found lately; where the API server does not answer, what was found last. */
  async lookLately(signal: AbortSignal): Promise<ServedVerdict> {
    const known = this.newerThan(LATELY);
    if (known !== undefined) return known;
    try {
      return await this.lookOnce(signal);
    } catch (error) {
      if (this.last === undefined) throw error;
      return this.last.verdict;
    }
  }

  private newerThan(age: Ms): ServedVerdict | undefined {
    return this.last !== undefined && this.clock.monotonic() - this.last.at < age ? this.last.verdict : undefined;
  }

  private lookOnce(signal: AbortSignal): Promise<ServedVerdict> {
    this.looking ??= this.lookNow(signal).finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async lookNow(signal: AbortSignal): Promise<ServedVerdict> {
    const at = this.clock.monotonic();
    const verdict = await this.read(signal);
    this.report(verdict);
    this.last = { verdict, at };
    return verdict;
  }

  private async read(signal: AbortSignal): Promise<ServedVerdict> {
    try {
      const crd = await this.client.get(CRDS, OUR_CRD, { signal });
      // A kind that is not served by a CRD has a schema that nobody can replace.
      return crd === undefined ? { kind: 'ours' } : schemaIsOurs(crd);
    } catch (error) {
      if (isNotServed(error)) return { kind: 'ours' };
      if (isForbidden(error)) return { kind: 'unreadable', why: error.message };
      throw error;
    }
  }

  private report(verdict: ServedVerdict): void {
    const [before, now] = [this.last?.verdict.kind ?? 'ours', verdict.kind];
    if (now === before) return;
    this.metrics.foreign(now === 'foreign');
    const keys = { crd: OUR_CRD.name };
    if (verdict.kind === 'foreign') {
      const { provider, missing } = verdict;
      this.logger.warn('AWSFargateProfiles are served with a foreign schema: nothing is changed in AWS', {
        ...keys,
        provider,
        missing: missing.join(', '),
        remedy: REMEDY,
      });
    } else if (verdict.kind === 'unreadable') {
      this.logger.warn('The CRD cannot be read: nothing is deleted in AWS', { ...keys, error: verdict.why });
    } else this.logger.info('AWSFargateProfiles are served with our schema again', keys);
  }
}
