import { presentStrings } from './model/input.ts';
import type { Service } from './model/sts/principals.ts';
import type { ReceivedCall } from './wire/handle.ts';
import type { WireRequest } from './wire/http.ts';

/** The record of one AWS call. The times in the record are milliseconds since the epoch. */
export interface CallRecord {
  readonly seq: number;
  /** The time when the AWS call arrived at the AWS emulator. */
  readonly at: number;
  /** The time when the AWS emulator executed the AWS call; undefined: the emulator has not executed the call. */
  readonly actedAt?: number;
  readonly requestId: string;
  readonly service: Service;
  readonly operation: string;
  /** Whether the operation of the AWS call changes AWS when the operation succeeds. */
  readonly mutates: boolean;
  /** Whether the AWS call is a mutation that has succeeded. This can be true even if the client got no answer. */
  readonly applied: boolean;
  readonly accessKeyId?: string;
  readonly principalArn?: string;
  readonly account?: string;
  readonly region?: string;
  readonly userAgent: string;
  /** The resource names, ARNs and tokens in the input of the AWS call, by the names of the input members. */
  readonly identifiers: Readonly<Record<string, string>>;
  /** The kind of the injected fault that hit the AWS call; undefined: no fault hit the call. */
  readonly fault?: string;
  /** The HTTP status of the answer; undefined: the AWS emulator has not given the whole answer, or never gives it. */
  readonly status?: number;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

const identifierMembers = [
  'clusterName',
  'name',
  'fargateProfileName',
  'podExecutionRoleArn',
  'principalArn',
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
  readonly operation?: string;
  readonly accessKeyId?: string;
  readonly mutates?: boolean;
  /** Selects only the AWS calls that were logged after the call with this sequence number. */
  readonly afterSeq?: number;
}

export class CallLog {
  #records: CallRecord[] = [];
  #lastSeq = 0;

  /**
   * Adds a record for an AWS call that has just arrived, and returns the record's sequence number. The result of the
   * call is added later, by `update`.
   */
  open(received: ReceivedCall, request: WireRequest, at: number): number {
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
      identifiers: presentStrings(received.input, identifierMembers),
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

  // The index in the log of the AWS call with this sequence number, or -1 if the log is empty. The calls have
  // consecutive numbers. The first number is not always 1, because clearing the log does not reset the counter.
  #indexOf(seq: number): number {
    const first = this.#records[0];
    return first === undefined ? -1 : seq - first.seq;
  }

  read(filter: LogFilter = {}): readonly CallRecord[] {
    return this.#records.filter(
      (record) =>
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
