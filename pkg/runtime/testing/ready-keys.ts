import type { QueuePriority, ReadyItem } from '../queue/ready-keys.ts';

export interface ReadyFields {
  readonly namespace?: string;
  readonly cluster?: string;
  readonly order?: string;
  readonly priority?: QueuePriority;
  readonly region?: string;
  readonly identity?: string;
  readonly readySince?: number;
}

/** A ready key with priority `normal`, by default of one namespace, cluster, region and identity. */
export const readyKey = (id: string, fields: ReadyFields = {}): ReadyItem => {
  const { namespace = 'team', cluster = 'prod', order = '', priority = 'normal', readySince = 0 } = fields;
  const { region = 'eu-west-1', identity = 'default' } = fields;
  const group = [cluster, region, identity].join('|');
  return { id, namespace, group, order, priority, readySince, backend: { namespace, region, identity } };
};
