import type { Context, Operations, Output } from './context.ts';
import { AwsError } from './errors.ts';
import { type Input, optionalString } from './input.ts';

/** Source: https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html */
function getServiceQuota(input: Input, { state }: Context): Output {
  const { profilesPerCluster, fargateVCpus } = state.config.quotas;
  const values: Readonly<Record<string, number | undefined>> = {
    'eks L-33415657': profilesPerCluster,
    'fargate L-3032A538': fargateVCpus,
  };
  const [ServiceCode, QuotaCode] = [optionalString(input, 'ServiceCode'), optionalString(input, 'QuotaCode')];
  const Value = values[`${ServiceCode} ${QuotaCode}`];
  if (Value === undefined)
    throw new AwsError(
      'NoSuchResourceException',
      400,
      `The request failed because the specified service quota ${QuotaCode} does not exist.`,
    );
  return { Quota: { ServiceCode, QuotaCode, Value, Unit: 'None', Adjustable: true } };
}

/**
 * Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html. The emulator
 * has a single metric, with a single datapoint.
 */
function getMetricStatistics(input: Input, { state }: Context): Output {
  const used = state.config.quotas.fargateVCpusInUse;
  const metric = JSON.stringify([input['Namespace'], input['MetricName'], input['Dimensions']]);
  const isKnown = used !== undefined && metric === FARGATE_VCPUS;
  const Datapoints = isKnown ? [{ Timestamp: input['StartTime'], Maximum: used, Unit: 'None' }] : [];
  return { Label: input['MetricName'], Datapoints };
}

/**
 * The metric of Fargate's vCPU usage: https://docs.aws.amazon.com/eks/latest/userguide/monitoring-fargate-usage.html
 */
const FARGATE_VCPUS = JSON.stringify([
  'AWS/Usage',
  'ResourceCount',
  [
    { Name: 'Service', Value: 'Fargate' },
    { Name: 'Type', Value: 'Resource' },
    { Name: 'Resource', Value: 'vCPU' },
    { Name: 'Class', Value: 'Standard/OnDemand' },
  ],
]);

export const serviceQuotasOperations: Operations = {
  GetServiceQuota: { mutates: false, resource: () => '*', run: getServiceQuota },
};

export const cloudWatchOperations: Operations = {
  GetMetricStatistics: { mutates: false, resource: () => '*', run: getMetricStatistics },
};
