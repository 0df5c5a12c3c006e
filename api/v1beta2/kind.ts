export const GROUP = 'infrastructure.cluster.x-k8s.io';
export const VERSION = 'v1beta2';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const KIND = 'AWSFargateProfile';
export const PLURAL = 'awsfargateprofiles';

/** The name of this provider in the provider inventory of clusterctl. */
export const PROVIDER = 'infrastructure-aws-fargate';
