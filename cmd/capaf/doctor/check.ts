import type { Result } from '../tree.ts';

export interface Check {
  readonly group: 'installation' | 'RBAC' | 'leader' | 'AWS' | 'capacity' | 'workload' | 'orphans';
  readonly name: string;
  readonly result: Result;
  readonly message: string;
  readonly fix?: string | undefined;
}

export type Verdict = readonly [result: Result, message: string, fix?: string | undefined];

export const line = (group: Check['group'], name: string, [result, message, fix]: Verdict): Check => {
  return { group, name, result, message, fix };
};
