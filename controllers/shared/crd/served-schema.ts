import { GROUP, PLURAL } from '../../../api/v1beta2/index.ts';
import { type SchemaComparison, compareSchema } from './crd-schema.ts';
import { Gauge, type Registry } from 'prom-client';
import { SingleFlight } from 'controller-runtime/async';
import { isForbidden, isNotServed, type KubeClient, type Resource } from 'controller-runtime/client';
import type { Clock, Ms } from 'controller-runtime/env';
import type { Logger } from 'controller-runtime/log';

export const CRDS: Resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
export const OUR_CRD = { namespace: '', name: `${PLURAL}.${GROUP}` };
/** Reconciles that delete nothing reuse a result for this long, so that one request serves many of them. */
const MAX_AGE: Ms = 10_000;

/**
 * How long cached objects may lack fields after our CRD is back: within two minutes, the API server ends the watches
 * that began under the other CRD, and the caches then list the objects again.
 */
const MAX_CACHE_LAG: Ms = 5 * 60_000;

/** Without the final period. */
export const FOREIGN_SCHEMA_REMEDY =
  'Apply the CRD of cluster-api-provider-aws-fargate again (kubectl apply --server-side --force-conflicts -k config/crd, in its repository at the version of the manager). Then reapply the manifest of each AWSFargateProfile that you want to keep, because the other CRD drops fields of these objects';

/**
 * The state of the CRD keeper (controllers/crdkeeper), which restores this provider's CRD and removes the webhooks of
 * Cluster API Provider AWS.
 *
 * - `restoring`: the keeper reapplies this provider's CRD as soon as possible.
 * - `stopped`: another client has reverted the keeper's changes too often. `problem` and `remedy` are sentences for
 *   users, without the final period.
 * - `capaServes`: Cluster API Provider AWS answers `webhook`, so CAPA's controller reconciles AWSFargateProfiles.
 */
export type KeeperState =
  | { readonly kind: 'restoring' }
  | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string }
  | CapaServes;

interface CapaServes {
  readonly kind: 'capaServes';
  readonly webhook: string;
  /** Whether another provider's CRD is installed, so that each write of an AWSFargateProfile drops fields. */
  readonly isForeign: boolean;
}

export type ServedSchemaState =
  | { readonly kind: 'ours' }
  /** `keeper` is undefined if the CRD keeper does not run, or has not seen the foreign CRD yet. */
  | (Extract<SchemaComparison, { kind: 'foreign' }> & {
      readonly keeper?: Exclude<KeeperState, { kind: 'capaServes' }>;
    })
  /** The manager lacks the permission to read the CRD. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** CAPA's controller reconciles AWSFargateProfiles, whatever CRD is installed. */
  | CapaServes;

type ReadResult = SchemaComparison | Extract<ServedSchemaState, { kind: 'unreadable' }>;

export const isLeftToOthers = ({ kind }: ServedSchemaState): boolean => kind === 'foreign' || kind === 'capaServes';

interface ServedSchemaOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SchemaMetrics;
}

/**
 * Checks whose AWSFargateProfile CRD the API server serves: CAPA ships a CRD of the same name, and whichever provider
 * clusterctl installs last wins.
 */
export class ServedSchema {
  private readonly options: ServedSchemaOptions;
  private last: { readonly result: ReadResult; readonly at: Ms } | undefined;
  private foreignAt: Ms = Number.NEGATIVE_INFINITY;
  private readonly lookups = new SingleFlight<ReadResult>();
  private keeper: KeeperState | undefined;

  constructor(options: ServedSchemaOptions) {
    this.options = options;
  }

  /**
   * `undefined`: the CRD keeper has nothing to restore. After a change of its state, the next check reads the CRD
   * again.
   */
  setKeeper(keeper: KeeperState | undefined): void {
    if (keeper?.kind !== this.keeper?.kind && this.last !== undefined)
      this.last = { ...this.last, at: Number.NEGATIVE_INFINITY };
    this.keeper = keeper;
  }

  /** Reads the CRD from the API server, before a creation or a deletion in AWS. Throws if the request fails. */
  async check(signal: AbortSignal): Promise<ServedSchemaState> {
    return this.withKeeper(await this.checkOnce(signal));
  }

  /** Reuses a result for {@link MAX_AGE}, and for longer while the request fails. Throws if there is no result yet. */
  async checkRecently(signal: AbortSignal): Promise<ServedSchemaState> {
    if (this.last !== undefined && this.options.clock.monotonic() - this.last.at < MAX_AGE)
      return this.withKeeper(this.last.result);
    try {
      return this.withKeeper(await this.checkOnce(signal));
    } catch (error) {
      if (this.last === undefined) throw error;
      return this.withKeeper(this.last.result);
    }
  }

  /** Returns false for five minutes after a check has shown a foreign CRD: cached objects may then lack fields. */
  isSettled(): boolean {
    return this.options.clock.monotonic() - this.foreignAt >= MAX_CACHE_LAG;
  }

  private withKeeper(result: ReadResult): ServedSchemaState {
    const { keeper } = this;
    if (keeper?.kind === 'capaServes') return keeper;
    return result.kind === 'foreign' && keeper !== undefined ? { ...result, keeper } : result;
  }

  private checkOnce(signal: AbortSignal): Promise<ReadResult> {
    return this.lookups.run(OUR_CRD.name, signal, (shared) => this.checkNow(shared));
  }

  private async checkNow(signal: AbortSignal): Promise<ReadResult> {
    const { clock } = this.options;
    const at = clock.monotonic();
    const result = await this.read(signal);
    this.report(result);
    this.last = { result, at };
    if (result.kind === 'foreign') this.foreignAt = clock.monotonic();
    return result;
  }

  private async read(signal: AbortSignal): Promise<ReadResult> {
    try {
      const crd = await this.options.client.get(CRDS, OUR_CRD, { signal });
      // Without a CRD, an aggregated API server serves AWSFargateProfiles, and no provider can replace the schema.
      return crd === undefined ? { kind: 'ours' } : compareSchema(crd);
    } catch (error) {
      if (isNotServed(error)) return { kind: 'ours' };
      if (isForbidden(error)) return { kind: 'unreadable', reason: error.message };
      throw error;
    }
  }

  private report(result: ReadResult): void {
    const { logger, metrics } = this.options;
    const now = result.kind;
    if (now === (this.last?.result.kind ?? 'ours')) return;
    metrics.foreign(now === 'foreign');
    const keys = { crd: OUR_CRD.name };
    if (result.kind === 'foreign')
      logger.warn('AWSFargateProfiles are served with a foreign schema: nothing is changed in AWS', {
        ...keys,
        provider: result.provider,
        missing: result.missing.join(', '),
        remedy: FOREIGN_SCHEMA_REMEDY,
      });
    else if (result.kind === 'unreadable')
      logger.warn('The CRD cannot be read: nothing is deleted in AWS', { ...keys, error: result.reason });
    else logger.info('AWSFargateProfiles are served with our schema again', keys);
  }
}

interface SchemaMetrics {
  foreign(is: boolean): void;
}

export function schemaMetrics(registry: Registry): SchemaMetrics {
  const gauge = new Gauge({
    name: 'capaf_foreign_schema',
    help: "1 while the API server serves AWSFargateProfiles with another provider's CRD, which drops fields that this provider needs.",
    registers: [registry],
  });
  gauge.set(0);
  return { foreign: (is) => gauge.set(is ? 1 : 0) };
}
