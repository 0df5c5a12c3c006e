import type { Leadership } from 'controller-runtime/election';
import type { EventRecorder } from 'controller-runtime/events';
import type { Metrics } from 'controller-runtime/metrics';
import type { Caches, CachesOptions } from './caches.ts';
import type { ServedSchema } from './crd/served-schema.ts';

export interface ControllerOptions extends CachesOptions {
  readonly caches: Caches;
  readonly schema: ServedSchema;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
}
