import { presentStrings } from './model/input.ts';
import type { Service } from './model/principals.ts';
import type { Received } from './wire/handle.ts';
import type { WireRequest } from './wire/http.ts';

/** One call as AWS saw it. Times are milliseconds since the epoch. */
export interface CallRecord {
  readonly seq: number;
  /** When the request arrived. */
  readonly at: number;
  /** When the model acted; absent: it never did. */
  readonly actedAt?: number;
  readonly requestId: string;
  readonly service: Service;
  readonly operation: string;
  /** Whether this operation is one that changes the world. */
  readonly mutates: boolean;
  /** A mutation that AWS carried out, whatever the client was told. */
  readonly applied: boolean;
  readonly accessKeyId?: string;
  readonly principalArn?: string;
  readonly account?: string;
  readonly region?: string;
  readonly userAgent: string;
  /** The main nouns of the input: names, ARNs, token. */
  readonly nouns: Readonly<Record<string, string>>;
  /** The fault that struck. */
  readonly fault?: string;
  /** What the client was answered; absent: nothing (yet). */
  readonly status?: number;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

const nounMembers = [
  'clusterName',
  'name',
  'fargateProfileName',
  'podExecutionRoleArn',
  'clientRequestToken',
  'resourceArn',
  'RoleName',
  'PolicyArn',
  'PolicyName',
  'PermissionsBoundary',
  'RoleArn',
  'RoleSessionName',
  'ExternalId',
];

export interface LogFilter {
  readonly service?: Service;
  readonly operation?: string;
  readonly accessKeyId?: string;
  readonly mutates?: boolean;
  /** Calls after this one. */
  readonly afterSeq?: number;
}

export class CallLog {
  #records: CallRecord[] = [];
  #lastSeq = 0;

  /** Notes an arriving call; `update` completes the note. */
  open(received: Received, request: WireRequest, at: number): number {
    const { requestId, service, operation, mutates, principal, scope } = received;
    this.#lastSeq += 1;
    this.#records.push({
      seq: this.#lastSeq,
      at,
      requestId,
      service,
      operation,
      mutates,
      applied: false,
      userAgent: request.headers['user-agent'] ?? '',
      nouns: presentStrings(received.input, nounMembers),
      ...(principal === undefined
        ? {}
        : { accessKeyId: principal.accessKeyId, principalArn: principal.arn, account: principal.account }),
      ...(scope === undefined ? {} : { region: scope.region }),
    });
    return this.#lastSeq;
  }

  update(seq: number, change: Partial<CallRecord>): void {
    const index = this.#indexOf(seq);
    const record = this.#records[index];
    if (record !== undefined) this.#records[index] = { ...record, ...change };
  }

  get(seq: number): CallRecord | undefined {
    return this.#records[this.#indexOf(seq)];
  }

  // Records are dense and in order, but may begin late after a clear.
  #indexOf(seq: number): number {
    const first = this.#records[0];
    return first === undefined ? -1 : seq - first.seq;
  }

  read(filter: LogFilter = {}): readonly CallRecord[] {
    return this.#records.filter(
      (record) =>
        (filter.service ?? record.service) === record.service &&
        (filter.operation ?? record.operation) === record.operation &&
        (filter.mutates ?? record.mutates) === record.mutates &&
        (filter.accessKeyId === undefined || filter.accessKeyId === record.accessKeyId) &&
        record.seq > (filter.afterSeq ?? 0),
    );
  }

  clear(): void {
    this.#records = [];
  }
}
