import { parseAllDocuments } from 'yaml';
import { fieldAt, textAt } from '../api/record.ts';

interface RbacRole {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

interface Statement {
  readonly Sid: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** The manifests with the RBAC rules of the manager, and the value of the manager's flags with which each is needed. */
const RBAC_FILES: Readonly<Record<string, string>> = {
  'config/rbac/role.yaml': '',
  'config/components/crd-keeper/rbac.yaml': 'managesCrd',
  'config/components/instance-groups/rbac.yaml': 'reconcilesInstanceGroups',
  'config/components/cluster-conditions/rbac.yaml': 'setsClusterConditions',
};

/** The JSON blocks of docs/aws-permissions.md, in their order. */
const IAM_PARTS = ['policy', 'withBoundary', 'chooseSubnets', 'instanceGroups'];
const JSON_BLOCK = /^```json\n([\s\S]*?)^```$/gm;

/** What `capaf doctor` checks: the RBAC rules of the manifests, and the IAM policy of the documentation. */
export function documentedPermissions(read: (path: string) => string): object {
  const rbac = Object.entries(RBAC_FILES).flatMap(([path, neededWith]) =>
    parseAllDocuments(read(path))
      .map((document) => {
        const object: unknown = document.toJS();
        return object;
      })
      .filter(isRole)
      .map(({ kind, metadata: { name }, rules }) => ({ kind, name, neededWith, permissions: rules.flatMap(reviews) })),
  );
  const blocks = [...read('docs/aws-permissions.md').matchAll(JSON_BLOCK)];
  if (blocks.length !== IAM_PARTS.length) throw new Error(`docs/aws-permissions.md has ${blocks.length} JSON blocks`);
  const iam = IAM_PARTS.flatMap((part, index) => {
    const block: unknown = JSON.parse(blocks[index]?.[1] ?? '');
    const statements: readonly unknown[] = [fieldAt(block, 'Statement') ?? block].flat();
    return statements.filter(isStatement).map((each) => question(part, each));
  });
  return { rbac, iam };
}

const isRole = (document: unknown): document is RbacRole =>
  ['ClusterRole', 'Role'].includes(textAt(document, 'kind') ?? '');

const isStatement = (value: unknown): value is Statement => textAt(value, 'Sid') !== undefined;

/** The `resourceAttributes` of SubjectAccessReviews. */
const reviews = ({ apiGroups, resources, verbs, resourceNames = [''] }: RbacRole['rules'][number]): readonly object[] =>
  apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource, subresource = ''] = path.split('/');
      return verbs.flatMap((verb) => resourceNames.map((name) => ({ group, resource, subresource, verb, name })));
    }),
  );

/** A statement as a simulation of it: one resource, and a value of each condition key that a request must have. */
function question(part: string, { Sid: sid, Action, Resource, Condition = {} }: Statement): object {
  const keys = Object.entries(Condition).flatMap(([operator, values]) =>
    Object.entries(values)
      .map(([key, value]) => [key, [value].flat()[0] ?? ''] as const)
      .filter(([, value]) => operator !== 'Null' || value === 'false'),
  );
  const context = keys.map(([key, value]) => ({ key, value }));
  return { sid, part, actions: [Action].flat(), resource: [Resource].flat()[0], context };
}
