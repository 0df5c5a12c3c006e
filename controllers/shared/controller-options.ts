import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import type { Caches, CachesOptions } from './caches.ts';
import type { ServedSchema } from './crd/served-schema.ts';

/** What the manager gives to each of its controllers. */
export interface ControllerOptions extends CachesOptions {
  readonly caches: Caches;
  readonly schema: ServedSchema;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
}
