import type { CallRecord } from '../aws/call-log.ts';
import type { Message } from '../docs/sequence.ts';
import type { AuditEvent } from '../world/audit.ts';

/** Who is who, and what is called how, in a diagram. */
export interface Cast {
  /** By the first word of the User-Agent. */
  readonly agents: Readonly<Record<string, string>>;
  /** By AWS access key. */
  readonly keys: Readonly<Record<string, string>>;
  /** What is called otherwise than in AWS, by its name there: a role by its profile; or than its object: `Kind name`. */
  readonly named: Readonly<Record<string, string>>;
}

interface Told {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly message: Message;
}

const KINDS: Readonly<Record<string, string>> = {
  clusters: 'Cluster',
  awsmanagedcontrolplanes: 'AWSManagedControlPlane',
  awsmanagedclusters: 'AWSManagedCluster',
  awsfargateprofiles: 'AWSFargateProfile',
};
const SERVICES = { eks: 'EKS', iam: 'IAM', sts: 'STS' } as const;

/**
 * What was done in a teardown, by whom, in order: which objects were deleted and which finalizers put on or taken off, what
 * was changed in AWS or refused there, and when AWS first said to somebody that something is gone.
 */
export function messagesOf(
  audit: readonly AuditEvent[],
  calls: readonly CallRecord[],
  cast: Cast,
  since: number,
): readonly Message[] {
  const lately = calls.filter(({ actedAt = 0 }) => actedAt >= since);
  const told = [...tellObjects(audit, cast).filter(({ at }) => at >= since), ...tellCalls(lately, cast)];
  // AWS's times are whole milliseconds: who acts on its answer comes in the same one or later.
  return told.toSorted((a, b) => Math.floor(a.at) - Math.floor(b.at)).map(({ message }) => message);
}

function tellObjects(audit: readonly AuditEvent[], { agents, named }: Cast): readonly Told[] {
  const finalizers = new Map<string, readonly string[]>();
  const deleted = new Set<string>();
  return audit.flatMap(({ verb, userAgent, objectRef, object, at }): readonly Told[] => {
    const fullName = `${KINDS[objectRef.resource] ?? objectRef.resource} ${objectRef.name}`;
    const name = named[fullName] ?? fullName;
    const [agent = ''] = userAgent.split(/[ /]/);
    const tell = (text: string): Told => ({ at, message: { from: agents[agent] ?? agent, to: 'API server', text } });
    const before = finalizers.get(name) ?? [];
    const now = object?.metadata.finalizers ?? [];
    finalizers.set(name, now);
    if (verb === 'delete') {
      // Asked again it is the same deletion.
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

function tellCalls(calls: readonly CallRecord[], { keys, named }: Cast): readonly Told[] {
  const goneFor = new Set<string>();
  return calls.flatMap((call): readonly Told[] => {
    const { operation, mutates, nouns, errorCode, errorMessage = '', actedAt: at } = call;
    const noun = nouns['fargateProfileName'] ?? nouns['RoleName'] ?? nouns['name'] ?? '';
    const who = keys[call.accessKeyId ?? ''];
    if (who === undefined || at === undefined) return [];
    const service = SERVICES[call.service];
    const what = named[noun] ?? noun;
    const answer = (text: string): Told => ({ at, message: { from: service, to: who, text } });
    if (mutates) {
      const asked = {
        at,
        message: {
          from: who,
          to: service,
          text: `${operation} ${noun in named && nouns['RoleName'] === noun ? 'of ' : ''}${what}`,
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
