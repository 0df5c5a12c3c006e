import type { Ms } from '../../../pkg/env/clock.ts';

/** IAM spreads a new trust policy within two minutes (the limit of Terraform's AWS provider). */
export const TRUST_PATIENCE: Ms = 120_000;
/** Contradicting answers of IAM and EKS about a resource usually become consistent within seconds. */
export const VISIBILITY_PATIENCE: Ms = 120_000;
