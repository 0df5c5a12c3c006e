import { parseAllDocuments } from 'yaml';
import { type AuditEntry, createAuditLog } from '../audit.ts';

/** A rule of a role of RBAC. */
export interface Rule {
  /** An RBAC rule for non-resource URLs, e.g. `/metrics`, has neither API groups nor resources. */
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Returns the rules of all Roles and ClusterRoles in the text of a manifest. */
export const rulesIn = (text: string): readonly Rule[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as { readonly kind: string; readonly rules?: readonly Rule[] })
    .flatMap(({ kind, rules = [] }) => (kind.endsWith('Role') ? rules : []));

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

/** Creates an audit log with all requests of one user. */
export async function auditPermissions(user: string): Promise<PermissionAudit> {
  const { apiServerArgs, read, close } = await createAuditLog({ level: 'Metadata', users: [user] });
  const permissionsIn = ({ verb, objectRef }: AuditEntry): readonly string[] => {
    if (objectRef === undefined) return [];
    const { apiGroup = '', resource, subresource, name } = objectRef;
    const path = subresource === undefined ? resource : `${resource}/${subresource}`;
    return [permission(verb, apiGroup, path), ...(name === undefined ? [] : [permission(verb, apiGroup, path, name)])];
  };
  const isForbidden = ({ responseStatus }: AuditEntry): boolean => responseStatus?.code === 403;
  return {
    apiServerArgs,
    used: async () => new Set((await read()).filter((entry) => !isForbidden(entry)).flatMap(permissionsIn)),
    forbidden: async () => (await read()).filter(isForbidden).flatMap((entry) => permissionsIn(entry).at(-1) ?? []),
    close,
  };
}
