import { expect } from 'chai';
import { Registry } from 'prom-client';
import { awsMetrics, type CredentialsInUse } from './metrics.ts';

async function seriesOf(registry: Registry, name: string): Promise<readonly (readonly [object, number])[]> {
  const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
  return values.map(({ labels, value }) => [labels, value]);
}

describe('awsMetrics', () => {
  it('has a limited number of series, whatever error codes come back', async () => {
    const registry = new Registry();
    const metrics = awsMetrics(registry);
    const call = { service: 'eks', operation: 'ListFargateProfiles', statusCode: 500, took: 1 } as const;
    for (let n = 0; n < 1_000; n++) metrics.recordCall({ ...call, errorCode: `code-${n}` });
    const series = await seriesOf(registry, 'aws_api_requests_total');
    expect(series).to.have.length(101);
    expect(series.at(-1)).to.deep.equal([
      { service: 'eks', operation: 'ListFargateProfiles', status_code: 500, error_code: 'other' },
      900,
    ]);
  });

  it('has the earliest expiry of the credentials of the manager and of all identities', async () => {
    const registry = new Registry();
    const metrics = awsMetrics(registry);
    const name = 'capaf_aws_credentials_expiry_timestamp_seconds';
    expect(await seriesOf(registry, name)).to.deep.equal([]);
    let list: readonly CredentialsInUse[] = [
      { source: 'manager', expiresAt: 50_000 },
      { source: 'identity', expiresAt: 90_000 },
      { source: 'identity', expiresAt: 70_000 },
      { source: 'identity' },
    ];
    metrics.watchCredentials(() => list);
    expect(await seriesOf(registry, name)).to.deep.equal([
      [{ source: 'manager' }, 50],
      [{ source: 'identity' }, 70],
    ]);
    list = [{ source: 'manager' }];
    expect(await seriesOf(registry, name)).to.deep.equal([]);
  });
});
