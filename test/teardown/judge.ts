import type { KubeObject } from '../envtest/api.ts';
import type { Sight } from '../grid/witness.ts';
import type { AuditEvent } from '../world/audit.ts';
import type { Ends } from './ends.ts';
import { Testimony } from './testimony.ts';

/** What was in the account at some moment, by name. */
export interface Seen {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Those of the cluster. */
  readonly profiles: ReadonlyMap<string, NonNullable<Sight['profile']>>;
  readonly roles: ReadonlyMap<string, NonNullable<Sight['role']>>;
}

/** One of the cluster's objects, and what it stands for in AWS. */
export interface Standing {
  readonly object: string;
  readonly profile: string;
  readonly role: string;
  /** The role goes with the last object that names it. */
  readonly isRoleOurs: boolean;
}

/** The objects of one cluster, all in one namespace. */
export interface Party {
  readonly namespace: string;
  readonly cluster: string;
  readonly controlPlane: string;
  readonly profiles: readonly Standing[];
}

/** What there is to judge by. */
export interface Evidence {
  /** What the API server has on record of requests, of all objects. */
  readonly audit: readonly AuditEvent[];
  readonly sights: readonly Seen[];
  readonly ends: Ends;
}

/**
 * Goes through a teardown once more, with what the API server has on record of its objects and what was in AWS meanwhile, and
 * tells what was not as it has to be at any moment: an object that says what is not so, or one that is let go too early.
 */
export function findingsOf(party: Party, { audit, sights, ends }: Evidence): readonly string[] {
  const replay = new Replay(party);
  const recorded = audit.filter(({ objectRef }) => objectRef.namespace === party.namespace);
  const moments = [
    ...sights.map((seen) => ({ at: seen.at, happen: () => replay.saw(seen) })),
    ...recorded.map((event) => ({ at: event.at, happen: () => replay.told(event) })),
    ...unrecorded(party, recorded, ends).map(({ name, at }) => ({ at, happen: () => replay.ended(name) })),
  ];
  // What AWS said in the same millisecond was said before: its times are whole ones.
  for (const { happen } of moments.toSorted((a, b) => Math.floor(a.at) - Math.floor(b.at) || a.at - b.at)) happen();
  return [...outOfOrder(party, ends), ...replay.findings()];
}

/** Of a request whose sender was killed meanwhile the record does not tell that it was carried out; a watch does. */
function unrecorded(
  { profiles }: Party,
  audit: readonly AuditEvent[],
  ends: Ends,
): readonly { readonly name: string; readonly at: number }[] {
  const recorded = new Set(
    audit
      .filter(({ objectRef, object }) => objectRef.resource === 'awsfargateprofiles' && isGone(object))
      .map(({ objectRef: { name } }) => name),
  );
  return profiles.flatMap(({ object: name }) => {
    const end = ends.profiles.get(name);
    return end === undefined || recorded.has(name) ? [] : [{ name, at: end.at }];
  });
}

/** The objects come to their end before what keeps the Cluster, and that before the Cluster. */
function outOfOrder({ profiles }: Party, ends: Ends): readonly string[] {
  return profiles.flatMap(({ object }) => {
    const end = ends.profiles.get(object)?.version ?? Infinity;
    return [
      ...(end === Infinity ? [`the object ${object} is still there`] : []),
      ...(ends.guard !== undefined && ends.guard.version < end
        ? [`the control plane was let go before ${object}`]
        : []),
      ...(ends.cluster !== undefined && ends.cluster.version < end
        ? [`the Cluster was gone before the object ${object}`]
        : []),
    ];
  });
}

class Replay {
  readonly #party: Party;
  readonly #testimonies: ReadonlyMap<string, Testimony>;
  readonly #findings: string[] = [];
  #seen: Seen = { at: 0, profiles: new Map(), roles: new Map() };

  constructor(party: Party) {
    this.#party = party;
    this.#testimonies = new Map(party.profiles.map(({ object, profile }) => [object, new Testimony(profile)]));
  }

  findings(): readonly string[] {
    const said = [...this.#testimonies].flatMap(([name, { findings }]) => findings.map((each) => `${name}: ${each}`));
    return [...this.#findings, ...said];
  }

  saw(seen: Seen): void {
    this.#seen = seen;
    const statuses = new Map([...seen.profiles].map(([name, { status }]) => [name, status]));
    for (const each of this.#party.profiles) {
      this.#testimonies.get(each.object)?.saw(statuses, this.#sightOf(each));
    }
  }

  told({ objectRef: { resource, name }, object }: AuditEvent): void {
    const { cluster, profiles } = this.#party;
    if (resource === 'clusters' && name === cluster && isGone(object)) this.#clusterGone();
    const standing = resource === 'awsfargateprofiles' && profiles.find((each) => each.object === name);
    if (standing) this.#profile(standing, object);
  }

  /** Of an object whose end is not on record. */
  ended(name: string): void {
    const standing = this.#party.profiles.find(({ object }) => object === name);
    if (standing !== undefined) this.#profile(standing, undefined);
  }

  #profile(standing: Standing, object: KubeObject | undefined): void {
    const testimony = this.#testimonies.get(standing.object);
    const last = object ?? testimony?.latest;
    if (testimony === undefined || last === undefined) return;
    if (isGone(object)) testimony.told({ type: 'DELETED', object: last }, this.#mustBeGone(standing));
    else testimony.told({ type: 'MODIFIED', object: last }, this.#sightOf(standing));
  }

  #clusterGone(): void {
    const { profiles, roles } = this.#seen;
    const ours = this.#party.profiles.filter(({ isRoleOurs }) => isRoleOurs).map(({ role }) => role);
    const left = [...profiles.keys(), ...ours.filter((role) => roles.has(role))];
    for (const each of new Set(left)) this.#findings.push(`the Cluster was gone before ${each} in AWS`);
  }

  #sightOf({ profile: profileName, role: roleName }: Standing): Sight {
    const [profile, role] = [this.#seen.profiles.get(profileName), this.#seen.roles.get(roleName)];
    return { ...(profile && { profile }), ...(role && { role }) };
  }

  #mustBeGone(standing: Standing): Sight {
    const { profile, role } = this.#sightOf(standing);
    const isShared = this.#party.profiles.some(
      (other) =>
        other !== standing && other.role === standing.role && this.#testimonies.get(other.object)?.latest !== undefined,
    );
    const isToGo = role !== undefined && standing.isRoleOurs && !isShared;
    return { ...(profile && { profile }), ...(isToGo && { role }) };
  }
}

/** As a request left it. */
const isGone = (object: KubeObject | undefined): boolean =>
  object === undefined ||
  (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0);
