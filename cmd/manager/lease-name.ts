import { createHash } from 'node:crypto';

/**
 * The name of the leader election Lease of a manager that reconciles all objects. Managers of all versions use this
 * name, so that an upgrade never has two leaders.
 */
const BASE_NAME = 'capaf-leader-election';
/** The form of each part of a Lease name. Dots separate the parts. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** The number of hexadecimal digits of the hash in the name of a Lease. */
const HASH_LENGTH = 10;

/** The flags that determine the name of the leader election Lease. */
export interface LeaseNameFlags {
  readonly election?: { readonly leaseName?: string } | undefined;
  readonly namespace?: string | undefined;
  readonly watchFilter?: string | undefined;
}

/**
 * Returns the name of the leader election Lease: the name in the flag --leader-election-id, or a name that contains the
 * values of --namespace and --watch-filter. Managers that reconcile different objects thus have different Leases, and
 * each of them can lead.
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
 * Converts a label value to a part of a Lease name. A label value that is a DNS label stays as it is, and has no dot.
 * For every other label value, returns the converted text, a dot and a hash of the label value. So two label values
 * never give the same name.
 */
function toNameParts(labelValue: string): string {
  if (DNS_LABEL.test(labelValue)) return labelValue;
  const hash = createHash('sha256').update(labelValue).digest('hex').slice(0, HASH_LENGTH);
  return `${labelValue.toLowerCase().replaceAll(/[^-a-z0-9]/g, '-')}.${hash}`;
}

/** The name and namespace of the Lease in the flag --leader-election-id. */
export interface LeaseId {
  readonly name: string;
  readonly namespace?: string;
}

/** The maximum length of the name of a Lease. */
const LONGEST_NAME = 253;

/**
 * Parses the flag --leader-election-id: `NAME`, or `NAMESPACE/NAME` as cluster-api-operator writes it. Returns
 * `undefined` for any other text.
 */
export function parseLeaseId(text: string): LeaseId | undefined {
  const [name = '', namespace, ...others] = text.split('/').toReversed();
  const isName = name.length <= LONGEST_NAME && name.split('.').every((part) => DNS_LABEL.test(part));
  const isNamespace = namespace === undefined || (DNS_LABEL.test(namespace) && namespace.length <= 63);
  if (!isName || !isNamespace || others.length > 0) return undefined;
  return { name, ...(namespace !== undefined && { namespace }) };
}
