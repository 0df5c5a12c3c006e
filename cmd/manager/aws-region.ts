/**
 * Returns the AWS region from AWS_REGION or AWS_DEFAULT_REGION, the environment variables that AWS SDKs read. On EKS,
 * IAM roles for service accounts and Pod Identity set both variables.
 */
export function awsRegionOf({ AWS_REGION, AWS_DEFAULT_REGION }: NodeJS.ProcessEnv): { readonly awsRegion?: string } {
  const awsRegion = AWS_REGION || AWS_DEFAULT_REGION || undefined;
  return awsRegion === undefined ? {} : { awsRegion };
}
