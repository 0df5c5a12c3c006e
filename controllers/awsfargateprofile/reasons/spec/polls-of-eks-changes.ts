import type { Ms } from '../../../../pkg/env/clock.ts';
import { SECOND, clamp } from './poll-intervals.ts';
import type { Poll } from './poll-intervals.ts';

const SHORTEST_PROFILE_POLL: Ms = SECOND / 20;
/** The time of the first poll, and the shortest later interval, if it is not known how long EKS usually takes. */
const SHORTEST_UNKNOWN_POLL: Ms = SECOND / 2;
/**
 * The time of the second poll if it is not known how long EKS takes. The first poll finds a change that fails at once.
 * Every other change takes EKS longer than two seconds, so an earlier second poll would find nothing.
 */
const SECOND_UNKNOWN_POLL: Ms = 2 * SECOND;
/**
 * The interval of polls before the earliest time at which EKS is expected to finish. After 40 seconds of waiting, the
 * interval grows with the time waited.
 */
const EARLY_PROFILE_POLL: Ms = 5 * SECOND;
/** The shortest interval of polls near the usual end of a change, as a share of the usual duration. */
const PROFILE_POLL_STEP = 1 / 32;
/** How long the polls stay frequent after the usual end of a change, in multiples of the shortest interval. */
const STEPS_AFTER_USUAL_END = 4;

/**
 * The delay until the controller asks EKS again about a Fargate profile that EKS is creating or deleting. If the
 * controller does not know how long EKS takes, it asks after half a second and after two seconds. From then on, the
 * delay is an eighth of the time since EKS began. The controller then sends about 35 requests in two minutes.
 *
 * If the `usual` duration is known, the controller asks at the earliest time at which EKS may have finished, and then at
 * short intervals, because other profiles of the cluster wait for the end. Before that time the controller asks only
 * rarely, in case EKS is faster than usual: docs/adr/0010.
 */
export const pollProfile: Poll = (waited, _facts, usual) => {
  const steady = clamp(SHORTEST_UNKNOWN_POLL, waited / 8, 10 * SECOND);
  if (usual === undefined)
    // Each delay varies by a tenth, so the first poll may come a little early. A reconcile after more than half of the
    // first delay therefore counts as the first poll, and the next reconcile is the second poll.
    return waited < SHORTEST_UNKNOWN_POLL / 2 ? SHORTEST_UNKNOWN_POLL : Math.max(SECOND_UNKNOWN_POLL - waited, steady);
  const { least, most } = usual;
  const shortest = Math.max(most * PROFILE_POLL_STEP, SHORTEST_PROFILE_POLL);
  const stepAfter = (time: Ms): Ms => Math.max(shortest, (most - time) / 4);
  const first = Math.min(most, least + stepAfter(least));
  if (waited < first) return clamp(SHORTEST_PROFILE_POLL, first - waited, Math.max(steady, EARLY_PROFILE_POLL));
  return waited < most + STEPS_AFTER_USUAL_END * shortest ? Math.min(steady, stepAfter(waited)) : steady;
};
