import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RawObject } from '../envtest/clients/api.ts';

/** A request in the audit log of the API server (https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/). */
export interface AuditEntry {
  readonly verb: string;
  readonly userAgent: string;
  /** Undefined for a request that is about no object, e.g. for `/version`. */
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  /** Present only with the audit level RequestResponse. */
  readonly responseObject?: RawObject;
}

export interface AuditLog {
  /** Flags with which the API server writes the log. */
  readonly apiServerArgs: readonly string[];
  /** The requests that the API server has logged so far, in the order of their answers. */
  readonly read: () => Promise<readonly AuditEntry[]>;
  readonly close: () => Promise<void>;
}

/** @param rule the rule of the audit policy that selects the requests and the level */
export async function createAuditLog(rule: object): Promise<AuditLog> {
  const directory = await mkdtemp(join(tmpdir(), 'capaf-audit-'));
  const [policyPath, logPath] = [join(directory, 'policy.json'), join(directory, 'audit.log')];
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    omitManagedFields: true,
    rules: [rule, { level: 'None' }],
  };
  await writeFile(policyPath, JSON.stringify(policy));
  return {
    apiServerArgs: ['--audit-policy-file', policyPath, '--audit-log-path', logPath],
    read: async () => {
      // The API server may still be writing the last line.
      const lines = (await readFile(logPath, 'utf8')).split('\n').slice(0, -1);
      return lines.map((line) => JSON.parse(line) as AuditEntry);
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
