import { GROUP, KIND } from '../../../api/v1beta2/index.ts';

/**
 * The webhooks that Cluster API Provider AWS installs for AWSFargateProfiles. Only the controller of that provider
 * answers them, and only while its feature gate EKSFargate is on.
 */
export const CAPA_WEBHOOKS: readonly string[] = ['default', 'validation'].map(
  (what) => `${what}.${KIND.toLowerCase()}.${GROUP}`,
);
