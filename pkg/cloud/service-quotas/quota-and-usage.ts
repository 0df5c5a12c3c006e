import { type Ms, formatTimestamp } from 'controller-runtime/env';
import { fieldAt } from 'controller-runtime/json';
import { type Sender, sendJson, sendQuery } from '../call/signed-request.ts';

export interface QuotaId {
  readonly ServiceCode: string;
  readonly QuotaCode: string;
}

/** Returns `undefined` if Service Quotas has no value for the account. AWS's default then applies. */
export async function readQuota(sender: Sender, { ServiceCode, QuotaCode }: QuotaId): Promise<number | undefined> {
  const target = 'ServiceQuotasV20190624.GetServiceQuota';
  const answer = await sendJson(sender, 'servicequotas', target, { ServiceCode, QuotaCode }).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'NoSuchResourceException') return undefined;
    throw error;
  });
  const value = fieldAt(fieldAt(answer, 'Quota'), 'Value');
  return typeof value === 'number' ? value : undefined;
}

const CLOUDWATCH_API_VERSION = '2010-08-01';
const HOUR: Ms = 3_600_000;
/** https://docs.aws.amazon.com/eks/latest/userguide/monitoring-fargate-usage.html */
const METRIC = {
  Namespace: 'AWS/Usage',
  MetricName: 'ResourceCount',
  ...dimensionsOf({ Service: 'Fargate', Type: 'Resource', Resource: 'vCPU', Class: 'Standard/OnDemand' }),
};

/**
 * Returns the account's peak use of on-demand Fargate vCPUs in the region during the last hour, by EKS pods and ECS
 * tasks. Returns `undefined` if CloudWatch has no data, for example because nothing ran.
 */
export async function readVCpuUsage(sender: Sender, now: Ms): Promise<number | undefined> {
  const text = await sendQuery(sender, 'cloudwatch', {
    Action: 'GetMetricStatistics',
    Version: CLOUDWATCH_API_VERSION,
    ...METRIC,
    StartTime: formatTimestamp(now - HOUR),
    EndTime: formatTimestamp(now),
    Period: '3600',
    'Statistics.member.1': 'Maximum',
  });
  const found = [...text.matchAll(/<Maximum>([^<]{1,64})</g)].map(([, value]) => Number(value));
  return found.length === 0 ? undefined : Math.max(...found);
}

function dimensionsOf(dimensions: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(dimensions).flatMap(([name, value], index) => [
    [`Dimensions.member.${index + 1}.Name`, name] as const,
    [`Dimensions.member.${index + 1}.Value`, value] as const,
  ]);
  return Object.fromEntries(entries);
}
