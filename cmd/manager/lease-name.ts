import { createHash } from 'node:crypto';

/** Managers of all versions use this name, so that an upgrade never has two leaders. */
const BASE_NAME = 'capaf-leader-election';
/** A part of a Lease name. Dots separate the parts. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const HASH_LENGTH = 10;

interface LeaseNameFlags {
  readonly election?: { readonly leaseName?: string } | undefined;
  readonly namespace?: string | undefined;
  readonly watchFilter?: string | undefined;
}

/**
 * Returns --leader-election-id, or a name with the values of --namespace and --watch-filter, so that managers that
 * reconcile different objects use different Leases.
 */
export function leaseNameFor({ election, namespace, watchFilter }: LeaseNameFlags): string {
  const parts = [
    BASE_NAME,
    ...(namespace === undefined ? [] : [`namespace-${namespace}`]),
    ...(watchFilter === undefined ? [] : [`filter-${toNameParts(watchFilter)}`]),
  ];
  return election?.leaseName ?? parts.join('.');
}

/**
 * A DNS label, which contains no dot, stays unchanged. Any other value becomes the converted text, a dot, and a hash,
 * so that two values never produce the same name.
 */
function toNameParts(labelValue: string): string {
  if (DNS_LABEL.test(labelValue)) return labelValue;
  const hash = createHash('sha256').update(labelValue).digest('hex').slice(0, HASH_LENGTH);
  return `${labelValue.toLowerCase().replaceAll(/[^-a-z0-9]/g, '-')}.${hash}`;
}

export interface LeaseId {
  readonly name: string;
  readonly namespace?: string;
}

const LONGEST_NAME = 253;

/** Accepts `NAME`, or `NAMESPACE/NAME`, which cluster-api-operator writes. Returns `undefined` for any other text. */
export function parseLeaseId(text: string): LeaseId | undefined {
  const [name = '', namespace, ...others] = text.split('/').toReversed();
  const isName = name.length <= LONGEST_NAME && name.split('.').every((part) => DNS_LABEL.test(part));
  const isNamespace = namespace === undefined || (DNS_LABEL.test(namespace) && namespace.length <= 63);
  if (!isName || !isNamespace || others.length > 0) return undefined;
  return { name, ...(namespace !== undefined && { namespace }) };
}
