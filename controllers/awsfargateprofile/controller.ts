import { API_VERSION, GROUP, KIND } from '../../api/v1beta2/index.ts';
import type { Sessions } from '../../pkg/cloud/types.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { EventRecorder } from '../../pkg/kube/events.ts';
import { parseKeyText } from '../../pkg/kube/paths.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import { KeyedMutex } from '../../pkg/runtime/keyed-mutex.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import { Turns } from '../../pkg/runtime/turns.ts';
import type { Leadership, Runnable } from '../../pkg/runtime/types.ts';
import { Workqueue } from '../../pkg/runtime/workqueue.ts';
import type { Caches } from '../caches.ts';
import type { Guard } from '../guard.ts';
import type { ServedSchema } from '../served-schema.ts';
import type { Identities } from '../identities/identities.ts';
import { underOurSchema } from './foreign-schema.ts';
import { liveReads } from './live.ts';
import { ProfileObjects } from './objects.ts';
import { Reconciler } from './reconcile.ts';
import type { ReconcilerOptions } from './reconcile.ts';
import { connectWatches } from './watches.ts';

const NAME = 'awsfargateprofile';

export interface AWSFargateProfileControllerOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly guard: Guard;
  readonly identities: Pick<Identities, 'onChange'>;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How many objects are worked on at the same time. */
  readonly concurrency: number;
  /** How often an object at rest is compared with AWS. */
  readonly resync: Ms;
}

/** Makes profiles and roles in AWS what the AWSFargateProfiles say. */
export function awsFargateProfileController(options: AWSFargateProfileControllerOptions): Runnable {
  const { client, caches, guard, schema, sessions, leadership, recorder, metrics, clock, random, logger } = options;
  const { identities, concurrency, resync } = options;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const objects = new ProfileObjects({ client, store: caches.profiles, onNews: (key) => queue.add(key) });
  // A place that nobody takes holds up a whole line.
  const turns = new Turns({ clock, wake: (id) => queue.add(parseKeyText(id), 'high') });
  const reconcilerOptions: ReconcilerOptions = {
    ...caches,
    clock,
    random,
    objects,
    live: liveReads(client, caches.clusterResource),
    schema,
    sessions,
    turns,
    guardOf: (controlPlane, signal) => guard.putOn(controlPlane, signal),
    roles: new KeyedMutex(),
    leadership,
    tell: ({ metadata }, { type, reason, message }) =>
      recorder.record({ metadata, apiVersion: API_VERSION, kind: KIND }, type, reason, message),
    resync,
  };
  const { reconcile, awaitsSibling } = new Reconciler(reconcilerOptions);
  connectWatches({ caches, identities, queue, objects, random, resync, awaitsSibling });
  return new Controller({
    name: NAME,
    object: { group: GROUP, kind: KIND },
    concurrency,
    queue,
    reconcile: underOurSchema(reconcile, reconcilerOptions),
    clock,
    random,
    logger,
    metrics: metrics.controller(NAME, concurrency),
  });
}
