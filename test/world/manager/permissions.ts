import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A rule of a role of RBAC. */
export interface Rule {
  /** An RBAC rule for non-resource URLs, e.g. `/metrics`, has neither API groups nor resources. */
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Entry {
  readonly verb: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
}

/** The permissions that one user of the API server has used or lacked. */
export interface PermissionAudit {
  readonly apiServerArgs: readonly string[];
  /**
   * The permissions of the requests that the API server has allowed. Each is written as `verb resource.group`, and for
   * a named object also as `verb resource.group/name`.
   */
  used(): Promise<ReadonlySet<string>>;
  /**
   * The permissions of the requests that the API server has forbidden, each written as `verb resource.group`, or for a
   * named object as `verb resource.group/name`.
   */
  forbidden(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const permission = (verb: string, group: string, resource: string, name?: string): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : `/${name}`}`;

/** The permissions that RBAC rules grant, written as `verb resource.group` or `verb resource.group/name`. */
export const permissionsOf = (rules: readonly Rule[]): readonly string[] =>
  rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames = [undefined] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => resourceNames.map((name) => permission(verb, group, resource, name))),
      ),
    ),
  );

/**
 * Creates the audit policy and the log path of an audit log with all requests of one user. To write the log, the API
 * server must be started with the flags in `apiServerArgs`.
 */
export async function auditPermissions(user: string): Promise<PermissionAudit> {
  const directory = await mkdtemp(join(tmpdir(), 'capaf-permissions-'));
  const [policyPath, logPath] = [join(directory, 'policy.json'), join(directory, 'audit.log')];
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'Metadata', users: [user] }, { level: 'None' }],
  };
  await writeFile(policyPath, JSON.stringify(policy));
  const read = async (): Promise<readonly Entry[]> => {
    // The API server may still be writing the last line of the log, so the test does not read this line.
    const lines = (await readFile(logPath, 'utf8')).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Entry).filter(({ objectRef }) => objectRef !== undefined);
  };
  const permissionsIn = ({ verb, objectRef }: Entry): readonly string[] => {
    const { apiGroup = '', resource = '', subresource, name } = objectRef ?? {};
    const path = subresource === undefined ? resource : `${resource}/${subresource}`;
    return [permission(verb, apiGroup, path), ...(name === undefined ? [] : [permission(verb, apiGroup, path, name)])];
  };
  const isForbidden = ({ responseStatus }: Entry): boolean => responseStatus?.code === 403;
  return {
    apiServerArgs: ['--audit-policy-file', policyPath, '--audit-log-path', logPath],
    used: async () => new Set((await read()).filter((entry) => !isForbidden(entry)).flatMap(permissionsIn)),
    forbidden: async () => (await read()).filter(isForbidden).map((entry) => permissionsIn(entry).at(-1) ?? ''),
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
