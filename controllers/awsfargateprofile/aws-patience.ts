import type { Ms } from 'controller-runtime/env';

// How long AWS may contradict itself before the controller reports it, and how long the controller pauses after EKS has
// refused changes.

/** IAM propagates a new trust policy within two minutes (the limit of Terraform's AWS provider). */
export const TRUST_PATIENCE: Ms = 120_000;
/** IAM and EKS are eventually consistent. They usually agree within seconds on whether a resource exists. */
export const VISIBILITY_PATIENCE: Ms = 120_000;

/** EKS may refuse changes for minutes with "update in progress": https://github.com/eksctl-io/eksctl/issues/8514 */
const SHORTEST_UPDATE_PAUSE: Ms = 15_000;
/** An EKS cluster may stay FAILED for days, so the pause grows with the time already waited. */
const LONGEST_UPDATE_PAUSE: Ms = 5 * 60_000;

/** Returns how long no profile change is sent after EKS has refused changes for the time `waited`. */
export const updatePauseAfter = (waited: Ms): Ms =>
  Math.min(Math.max(waited / 60, SHORTEST_UPDATE_PAUSE), LONGEST_UPDATE_PAUSE);
