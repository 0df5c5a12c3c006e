import { GROUP, PLURAL } from '../../../api/v1beta2/index.ts';
import { SingleFlight } from '../../../pkg/async/single-flight.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import type { Logger } from '../../../pkg/env/logger.ts';
import { isForbidden, isNotServed } from '../../../pkg/kube/errors.ts';
import type { KubeClient, Resource } from '../../../pkg/kube/types.ts';
import type { SchemaComparison } from './crd-schema.ts';
import { compareSchema } from './crd-schema.ts';
import type { SchemaMetrics } from './served-schema-metrics.ts';

export const CRDS: Resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
export const OUR_CRD = { namespace: '', name: `${PLURAL}.${GROUP}` };
/**
 * How long a reconcile that deletes nothing uses the last check of the installed CRD. So one request serves many
 * reconciles.
 */
const MAX_AGE: Ms = 10_000;
/**
 * How long a deletion in AWS uses the last check of the installed CRD. So one request serves the few calls that delete
 * a Fargate profile and its role.
 */
const MAX_AGE_FOR_DELETION: Ms = 1_000;

/**
 * How long objects in the caches may still lack fields that another provider's CRD has hidden, after the CRD of this
 * provider is back. Within two minutes, the API server ends the watches that began under the other CRD, and then the
 * caches list the objects again.
 */
const MAX_CACHE_LAG: Ms = 5 * 60_000;

/**
 * The text that tells a user what to do after the CRD of another provider was installed, without the closing full stop.
 */
export const FOREIGN_SCHEMA_REMEDY =
  'Apply the CRD of cluster-api-provider-aws-fargate again (kubectl apply --server-side --force-conflicts -k config/crd, in its repository at the version of the manager). Then apply once more the manifest of each AWSFargateProfile that you want to keep, because the other CRD drops fields from these objects';

/**
 * The state of the CRD keeper (controllers/crdkeeper), which restores the CRD of this provider and removes webhooks of
 * Cluster API Provider AWS.
 *
 * - `restoring`: the keeper applies the CRD of this provider again as soon as possible.
 * - `stopped`: another client has undone the changes of the keeper too often. `problem` and `remedy` say so in
 *   sentences without the closing full stop.
 * - `capaServes`: Cluster API Provider AWS answers `webhook`, so its own controller reconciles AWSFargateProfiles.
 */
export type KeeperState =
  | { readonly kind: 'restoring' }
  | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string }
  | CapaServes;

interface CapaServes {
  readonly kind: 'capaServes';
  readonly webhook: string;
  /** Whether the CRD of another provider is installed. Each write of an AWSFargateProfile then drops fields. */
  readonly isForeign: boolean;
}

export type ServedSchemaState =
  | { readonly kind: 'ours' }
  /**
   * The CRD of another provider is installed. `keeper` is undefined if the manager runs without the CRD keeper, or if
   * the CRD keeper has not seen that CRD yet.
   */
  | (Extract<SchemaComparison, { kind: 'foreign' }> & {
      readonly keeper?: Exclude<KeeperState, { kind: 'capaServes' }>;
    })
  /** The manager has no permission to read the CRD. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** The controller of Cluster API Provider AWS reconciles AWSFargateProfiles, whatever CRD is installed. */
  | CapaServes;

/** The result of reading the CRD from the API server. */
type ReadResult = SchemaComparison | Extract<ServedSchemaState, { kind: 'unreadable' }>;

/**
 * Whether this controller must leave AWSFargateProfiles unchanged: the installed CRD hides some of their fields, or the
 * controller of Cluster API Provider AWS reconciles them.
 */
export const isLeftToOthers = ({ kind }: ServedSchemaState): boolean => kind === 'foreign' || kind === 'capaServes';

/**
 * Checks whose CRD for AWSFargateProfiles is installed. Releases of Cluster API Provider AWS contain a CRD of the same
 * name, and clusterctl applies the CRD of the provider that is installed or upgraded last.
 */
export class ServedSchema {
  private readonly client: KubeClient;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly metrics: SchemaMetrics;
  private last: { readonly result: ReadResult; readonly at: Ms } | undefined;
  /** The time of the last check at which the CRD of another provider was installed. */
  private foreignAt: Ms = Number.NEGATIVE_INFINITY;
  private readonly lookups = new SingleFlight<ReadResult>();
  private keeper: KeeperState | undefined;

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

  /**
   * Sets the state of the CRD keeper; `undefined` if the keeper has nothing to do. After a change of this state, the
   * next check reads the CRD, because the keeper may have seen or made a change of the CRD.
   */
  setKeeper(keeper: KeeperState | undefined): void {
    if (keeper?.kind !== this.keeper?.kind && this.last !== undefined)
      this.last = { ...this.last, at: Number.NEGATIVE_INFINITY };
    this.keeper = keeper;
  }

  /**
   * Returns whose CRD is installed, checked at most {@link MAX_AGE_FOR_DELETION} ago. Throws the error of the request
   * if it fails.
   */
  async check(signal: AbortSignal): Promise<ServedSchemaState> {
    return this.withKeeper(this.newerThan(MAX_AGE_FOR_DELETION) ?? (await this.checkOnce(signal)));
  }

  /**
   * Returns whose CRD is installed, checked at most {@link MAX_AGE} ago. If the request fails, the result of the last
   * successful check is returned. Throws the error if no check has succeeded yet.
   */
  async checkRecently(signal: AbortSignal): Promise<ServedSchemaState> {
    const known = this.newerThan(MAX_AGE);
    if (known !== undefined) return this.withKeeper(known);
    try {
      return this.withKeeper(await this.checkOnce(signal));
    } catch (error) {
      if (this.last === undefined) throw error;
      return this.withKeeper(this.last.result);
    }
  }

  /**
   * False if a check of the last five minutes showed the CRD of another provider. Then cached objects may lack fields.
   */
  isSettled(): boolean {
    return this.clock.monotonic() - this.foreignAt >= MAX_CACHE_LAG;
  }

  private withKeeper(result: ReadResult): ServedSchemaState {
    const { keeper } = this;
    if (keeper?.kind === 'capaServes') return keeper;
    return result.kind === 'foreign' && keeper !== undefined ? { ...result, keeper } : result;
  }

  private newerThan(age: Ms): ReadResult | undefined {
    return this.last !== undefined && this.clock.monotonic() - this.last.at < age ? this.last.result : undefined;
  }

  private checkOnce(signal: AbortSignal): Promise<ReadResult> {
    return this.lookups.run(OUR_CRD.name, signal, (shared) => this.checkNow(shared));
  }

  private async checkNow(signal: AbortSignal): Promise<ReadResult> {
    const at = this.clock.monotonic();
    const result = await this.read(signal);
    this.report(result);
    this.last = { result, at };
    if (result.kind === 'foreign') this.foreignAt = this.clock.monotonic();
    return result;
  }

  private async read(signal: AbortSignal): Promise<ReadResult> {
    try {
      const crd = await this.client.get(CRDS, OUR_CRD, { signal });
      // If there is no CRD of AWSFargateProfiles, an aggregated API server serves them. Then no other provider can
      // replace the schema.
      return crd === undefined ? { kind: 'ours' } : compareSchema(crd);
    } catch (error) {
      if (isNotServed(error)) return { kind: 'ours' };
      if (isForbidden(error)) return { kind: 'unreadable', reason: error.message };
      throw error;
    }
  }

  private report(result: ReadResult): void {
    const [before, now] = [this.last?.result.kind ?? 'ours', result.kind];
    if (now === before) return;
    this.metrics.foreign(now === 'foreign');
    const keys = { crd: OUR_CRD.name };
    if (result.kind === 'foreign') {
      const { provider, missing } = result;
      this.logger.warn('AWSFargateProfiles are served with a foreign schema: nothing is changed in AWS', {
        ...keys,
        provider,
        missing: missing.join(', '),
        remedy: FOREIGN_SCHEMA_REMEDY,
      });
    } else if (result.kind === 'unreadable') {
      this.logger.warn('The CRD cannot be read: nothing is deleted in AWS', { ...keys, error: result.reason });
    } else this.logger.info('AWSFargateProfiles are served with our schema again', keys);
  }
}
