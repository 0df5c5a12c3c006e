import type { Ms } from '../../../pkg/env/clock.ts';

/**
 * The shortest time for which the controller sends no profile change while EKS updates the cluster. EKS repeats "update
 * in progress" for minutes: https://github.com/eksctl-io/eksctl/issues/8514
 */
const SHORTEST_UPDATE_PAUSE: Ms = 15_000;
/**
 * The longest time for which the controller sends no profile change while EKS updates the cluster or the cluster is not
 * ACTIVE. A cluster may stay FAILED for days, so the time grows with the time already waited.
 */
const LONGEST_UPDATE_PAUSE: Ms = 5 * 60_000;

/**
 * Returns for how long the controller sends no profile change, if EKS has refused such changes for the time `waited`
 * because of a cluster update.
 */
export const updatePauseAfter = (waited: Ms): Ms =>
  Math.min(Math.max(waited / 60, SHORTEST_UPDATE_PAUSE), LONGEST_UPDATE_PAUSE);
