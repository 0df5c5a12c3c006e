import type { KubeObject } from '../envtest/api.ts';
import type { Sight } from '../grid/witness.ts';
import type { AuditEvent } from '../world/audit.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import { FINALIZER } from '../world/from-capa.ts';
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

/**
 * Goes through a teardown once more, with what the API server has on record of its objects and what was in AWS meanwhile, and
 * tells what was not as it has to be at any moment: an object that says what is not so, or one that is let go too early.
 */
export function findingsOf(party: Party, audit: readonly AuditEvent[], sights: readonly Seen[]): readonly string[] {
  const replay = new Replay(party);
  const moments = [
    ...sights.map((seen) => ({ at: seen.at, happen: () => replay.saw(seen) })),
    ...audit
      .filter(({ objectRef }) => objectRef.namespace === party.namespace)
      .map((event) => ({ at: event.at, happen: () => replay.told(event) })),
  ];
  // What AWS said in the same millisecond was said before: its times are whole ones.
  for (const { happen } of moments.toSorted((a, b) => Math.floor(a.at) - Math.floor(b.at) || a.at - b.at)) happen();
  return replay.findings();
}

class Replay {
  readonly #party: Party;
  readonly #testimonies: ReadonlyMap<string, Testimony>;
  readonly #findings: string[] = [];
  /** Said of objects that were still there, as far as the record goes. */
  readonly #early: { readonly object: string; readonly finding: string }[] = [];
  readonly #ended = new Set<string>();
  #seen: Seen = { at: 0, profiles: new Map(), roles: new Map() };
  #hadGuard = false;

  constructor(party: Party) {
    this.#party = party;
    this.#testimonies = new Map(party.profiles.map(({ object, profile }) => [object, new Testimony(profile)]));
  }

  findings(): readonly string[] {
    const said = [...this.#testimonies].flatMap(([name, { findings }]) => findings.map((each) => `${name}: ${each}`));
    // Of a request whose sender was killed meanwhile the record does not tell that it was carried out. An object whose end it
    // never tells went with such a one; one that was let go later than it had to be has an end on record.
    const early = this.#early.filter(({ object }) => this.#ended.has(object)).map(({ finding }) => finding);
    return [...this.#findings, ...early, ...said];
  }

  saw(seen: Seen): void {
    this.#seen = seen;
    const statuses = new Map([...seen.profiles].map(([name, { status }]) => [name, status]));
    for (const each of this.#party.profiles) {
      this.#testimonies.get(each.object)?.saw(statuses, this.#sightOf(each));
    }
  }

  told({ objectRef: { resource, name }, object }: AuditEvent): void {
    const { cluster, controlPlane, profiles } = this.#party;
    const isGone = object === undefined || isLetGo(object);
    if (resource === 'clusters' && name === cluster && isGone) this.#clusterGone();
    if (resource === 'awsmanagedcontrolplanes' && name === controlPlane) this.#controlPlane(object);
    const standing = resource === 'awsfargateprofiles' && profiles.find((each) => each.object === name);
    if (standing) this.#profile(standing, object, isGone);
  }

  #profile(standing: Standing, object: KubeObject | undefined, isGone: boolean): void {
    const testimony = this.#testimonies.get(standing.object);
    const last = object ?? testimony?.latest;
    if (testimony === undefined || last === undefined) return;
    if (isGone) {
      this.#ended.add(standing.object);
      testimony.told({ type: 'DELETED', object: last }, this.#mustBeGone(standing));
    } else testimony.told({ type: 'MODIFIED', object: last }, this.#sightOf(standing));
  }

  #controlPlane(object: KubeObject | undefined): void {
    const hasGuard = object?.metadata.finalizers?.includes(GUARD) === true;
    if (this.#hadGuard && !hasGuard) {
      for (const [name, { latest }] of this.#testimonies) {
        const isHeld = latest?.metadata.finalizers?.includes(FINALIZER) === true;
        if (isHeld) this.#early.push({ object: name, finding: `the control plane was let go before ${name}` });
      }
    }
    this.#hadGuard = hasGuard;
  }

  #clusterGone(): void {
    const { profiles, roles } = this.#seen;
    const ours = this.#party.profiles.filter(({ isRoleOurs }) => isRoleOurs).map(({ role }) => role);
    const left = [...profiles.keys(), ...ours.filter((role) => roles.has(role))];
    for (const each of new Set(left)) this.#findings.push(`the Cluster was gone before ${each} in AWS`);
    for (const [name, { latest }] of this.#testimonies) {
      if (latest === undefined) continue;
      this.#early.push({ object: name, finding: `the Cluster was gone before the object ${name}` });
    }
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

const isLetGo = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
