import type { Ms } from '../../../pkg/env/clock.ts';

/**
 * How long EKS may reject the trust policy of a role before a condition reports it as an error. IAM spreads a new trust
 * policy within two minutes (the limit of Terraform's AWS provider).
 */
export const TRUST_PATIENCE: Ms = 120_000;
/**
 * How long the answers of IAM and EKS about the existence of a resource may contradict each other before a condition
 * reports an error. In practice the answers become consistent within seconds.
 */
export const VISIBILITY_PATIENCE: Ms = 120_000;
