import { createHash } from 'node:crypto';
import type { ManagerFlags } from './flags.ts';

/**
 * The name of the Lease of a manager without scope. Managers of all versions share it, so that an upgrade never has two
 * leaders.
 */
const LEASE = 'capaf-leader-election';
/** A text that can stand between two dots in the name of a Lease, and that has no dot itself. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** The number of hexadecimal digits of a hash in the name of a Lease. */
const HASH_LENGTH = 10;

/**
 * The name of the manager's Lease: the name in the flag --leader-election-id, or a name that follows from the objects
 * that the manager reconciles. Two managers with different scopes have different Leases, so that both lead.
 */
export function leaseNameFor({
  election,
  namespace,
  watchFilter,
}: Pick<ManagerFlags, 'election' | 'namespace' | 'watchFilter'>): string {
  const parts = [
    LEASE,
    ...(namespace === undefined ? [] : [`namespace-${namespace}`]),
    ...(watchFilter === undefined ? [] : [`filter-${toNameParts(watchFilter)}`]),
  ];
  return election?.leaseName ?? parts.join('.');
}

/**
 * A label value as a part of a name. If the name of an object cannot have a character of the label value, a dot and a
 * hash follow. The dot occurs in no other case, so two label values never give the same name.
 */
function toNameParts(labelValue: string): string {
  if (DNS_LABEL.test(labelValue)) return labelValue;
  const hash = createHash('sha256').update(labelValue).digest('hex').slice(0, HASH_LENGTH);
  return `${labelValue.toLowerCase().replaceAll(/[^-a-z0-9]/g, '-')}.${hash}`;
}

/** The Lease that --leader-election-id names. */
export interface LeaseId {
  readonly name: string;
  readonly namespace?: string;
}

/** The maximum length of the name of a Lease. */
const LONGEST_NAME = 253;

/** Reads `NAME` or `NAMESPACE/NAME`, as cluster-api-operator writes it; `undefined` if the text is neither. */
export function parseLeaseId(text: string): LeaseId | undefined {
  const [name = '', namespace, ...others] = text.split('/').toReversed();
  const isName = name.length <= LONGEST_NAME && name.split('.').every((part) => DNS_LABEL.test(part));
  const isNamespace = namespace === undefined || (DNS_LABEL.test(namespace) && namespace.length <= 63);
  if (!isName || !isNamespace || others.length > 0) return undefined;
  return { name, ...(namespace !== undefined && { namespace }) };
}
