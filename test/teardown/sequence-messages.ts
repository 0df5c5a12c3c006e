import type { CallRecord } from '../aws/call-log.ts';
import type { Message } from '../docs/sequence.ts';
import type { AuditEvent } from '../world/cluster-api/audit.ts';

/** The names that a sequence diagram shows for clients, AWS resources and objects. */
export interface DiagramParticipants {
  /** The shown names of the clients of the API server, by the first word of their User-Agent. */
  readonly agents: Readonly<Record<string, string>>;
  /** The shown names of the clients of AWS, by their AWS access key. */
  readonly keys: Readonly<Record<string, string>>;
  /** The shown names of AWS resources, by their name in AWS, and of Kubernetes objects, by `Kind name`. */
  readonly named: Readonly<Record<string, string>>;
}

interface TimedMessage {
  /** When the client or the server sent the message, in milliseconds since the epoch. */
  readonly at: number;
  readonly message: Message;
}

const KINDS: Readonly<Record<string, string>> = {
  clusters: 'Cluster',
  awsmanagedcontrolplanes: 'AWSManagedControlPlane',
  awsmanagedclusters: 'AWSManagedCluster',
  awsfargateprofiles: 'AWSFargateProfile',
};
const SERVICES = { eks: 'EKS', iam: 'IAM', sts: 'STS', ec2: 'EC2' } as const;

/**
 * Converts a recorded teardown into the messages of a sequence diagram, in order of time: deletions of objects, added
 * and removed finalizers, calls that change AWS, refusals by AWS, and for each client the first answer that says that
 * an AWS resource is gone.
 */
export function messagesOfTeardown(
  audit: readonly AuditEvent[],
  calls: readonly CallRecord[],
  cast: DiagramParticipants,
  since: number,
): readonly Message[] {
  const lately = calls.filter(({ actedAt = 0 }) => actedAt >= since);
  const told = [...messagesToApiServer(audit, cast).filter(({ at }) => at >= since), ...messagesToAws(lately, cast)];
  // The times of AWS calls are whole milliseconds, so all messages are sorted by whole milliseconds.
  return told.toSorted((a, b) => Math.floor(a.at) - Math.floor(b.at)).map(({ message }) => message);
}

function messagesToApiServer(
  audit: readonly AuditEvent[],
  { agents, named }: DiagramParticipants,
): readonly TimedMessage[] {
  const finalizers = new Map<string, readonly string[]>();
  const deleted = new Set<string>();
  return audit.flatMap(({ verb, userAgent, objectRef, object, at }): readonly TimedMessage[] => {
    const fullName = `${KINDS[objectRef.resource] ?? objectRef.resource} ${objectRef.name}`;
    const name = named[fullName] ?? fullName;
    const [agent = ''] = userAgent.split(/[ /]/);
    const tell = (text: string): TimedMessage => ({
      at,
      message: { from: agents[agent] ?? agent, to: 'API server', text },
    });
    const before = finalizers.get(name) ?? [];
    const now = object?.metadata.finalizers ?? [];
    finalizers.set(name, now);
    if (verb === 'delete') {
      // A diagram shows only the first delete request for an object.
      const isNews = !deleted.has(name);
      deleted.add(name);
      return isNews ? [tell(`delete ${name}`)] : [];
    }
    return [
      ...(now.some((each) => !before.includes(each)) ? [tell(`add finalizer to ${name}`)] : []),
      ...(before.some((each) => !now.includes(each)) ? [tell(`remove finalizer from ${name}`)] : []),
    ];
  });
}

function messagesToAws(calls: readonly CallRecord[], { keys, named }: DiagramParticipants): readonly TimedMessage[] {
  const goneFor = new Set<string>();
  return calls.flatMap((call): readonly TimedMessage[] => {
    const { operation, mutates, identifiers, errorCode, errorMessage = '', actedAt: at } = call;
    const identifier = identifiers['fargateProfileName'] ?? identifiers['RoleName'] ?? identifiers['name'] ?? '';
    const who = keys[call.accessKeyId ?? ''];
    if (who === undefined || at === undefined) return [];
    const service = SERVICES[call.service];
    const what = named[identifier] ?? identifier;
    const answer = (text: string): TimedMessage => ({ at, message: { from: service, to: who, text } });
    if (mutates) {
      const asked = {
        at,
        message: {
          from: who,
          to: service,
          text: `${operation} ${identifier in named && identifiers['RoleName'] === identifier ? 'of ' : ''}${what}`,
        },
      };
      return errorCode === undefined ? [asked] : [asked, answer(`refused: ${errorMessage}`)];
    }
    const isGone = errorCode === 'ResourceNotFoundException' || errorCode === 'NoSuchEntity';
    if (!isGone || goneFor.has(`${who} ${what}`)) return [];
    goneFor.add(`${who} ${what}`);
    return [answer(`${what} is gone`)];
  });
}
