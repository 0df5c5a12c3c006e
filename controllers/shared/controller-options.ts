import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import type { Caches } from './caches.ts';
import type { ServedSchema } from './crd/served-schema.ts';

/** What the manager gives to each of its controllers. */
export interface ControllerOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly schema: ServedSchema;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
