import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

export interface SchemaMetrics {
  foreign(is: boolean): void;
}

export function schemaMetrics(registry: Registry): SchemaMetrics {
  const gauge = new Gauge({
    name: 'capaf_foreign_schema',
    help: '1 while the API server serves AWSFargateProfiles with the CRD of another provider, which drops fields that this provider needs.',
    registers: [registry],
  });
  gauge.set(0);
  return { foreign: (is) => gauge.set(is ? 1 : 0) };
}
