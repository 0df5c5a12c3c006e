import type { ReadyItem } from '../queue/ready-keys.ts';

export type ReadyFields = Partial<Omit<ReadyItem, 'id'>>;

/** Returns a ready key with priority `normal`, by default always in the same namespace and group. */
export const readyKey = (id: string, fields: ReadyFields = {}): ReadyItem => ({
  id,
  namespace: 'team',
  group: 'eu-west-1',
  priority: 'normal',
  readySince: 0,
  ...fields,
});
