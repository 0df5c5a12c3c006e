import * as E from 'fp-ts/lib/Either.js';
import type { Clock } from 'controller-runtime/env';
import { ProfileName, type RoleArn, type RoleName } from '../../../api/names.ts';
import * as cloud from '../../../pkg/cloud/index.ts';
import { clusterArn, roleArn } from '../../../pkg/fargate/arns.ts';
import { doesSelectorCover } from '../../../pkg/fargate/overlap.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import { OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';

/** A change that the controller would make, in the terms of AWS's API. */
export interface PlannedChange {
  readonly operation: string;
  readonly resource: string;
  readonly fields: readonly ChangedField[];
  /** The Fargate profile that EKS deletes, if the change is a deletion. */
  readonly deletedProfile?: string;
}

export interface ChangedField {
  readonly name: string;
  /** `undefined` if the field is not set yet. */
  readonly before?: unknown;
  /** `undefined` if the field is removed. */
  readonly after?: unknown;
  /** This Fargate profile is replaced, because EKS cannot change the field. */
  readonly replaces?: string;
  /** Selectors of the replaced profile that match pods which no selector of the new profile matches. */
  readonly uncovered?: readonly cloud.FargateSelector[];
}

/** AWS's answers about resources of one kind. Each is read once, and then updated by the planned changes. */
class Answers<A> extends Map<string, { readonly answer: A }> {
  private readonly asked = new Set<string>();

  /**
   * Returns the remembered answer, or reads it with `call`. Does not remember errors. Reads `others` at the same time,
   * because later reconciles need them.
   */
  async read(
    key: string,
    call: () => cloud.Call<A>,
    others: () => readonly (readonly [key: string, call: () => cloud.Call<A>])[] = () => [],
  ): cloud.Call<A> {
    const known = this.get(key);
    if (known !== undefined) return E.right(known.answer);
    const ahead = others().filter(([other]) => !this.asked.has(other));
    for (const [other] of ahead) this.asked.add(other);
    const [result] = await Promise.all([call(), ...ahead.map(([other, ask]) => this.read(other, ask))]);
    if (E.isRight(result)) this.put(key, result.right);
    return result;
  }

  put(key: string, answer: A): void {
    this.set(key, { answer });
  }
}

/**
 * Simulates AWS after the controller's changes. Each fact comes from AWS when it is first read. A change is kept in
 * memory, and passed to `onChange`. `rolesAhead` returns the roles that later reconciles of the same cluster read. To
 * save time, the first read of a role reads them too.
 */
export function plannedAws(
  live: cloud.Sessions,
  clock: Clock,
  onChange: (change: PlannedChange) => void,
  rolesAhead: () => readonly Pick<cloud.NewRole, 'name' | 'path'>[],
) {
  const listings = new Answers<cloud.ProfileListing>();
  const profiles = new Answers<cloud.ProfileLookup>();
  const roles = new Answers<cloud.Role | undefined>();
  const policies = new Answers<readonly string[]>();
  const entries = new Answers<cloud.AccessEntryLookup>();

  /** `apply` makes the change in memory, and returns what AWS would respond. */
  const change = async <A>(
    operation: string,
    resource: string,
    fields: readonly ChangedField[],
    apply: () => A,
    deletedProfile?: string,
  ): cloud.Call<A> => {
    const answer = apply();
    onChange({ operation, resource, fields, ...(deletedProfile !== undefined && { deletedProfile }) });
    return E.right(answer);
  };
  /** Throws if no reconcile has read the resource before: `before` is then undefined. */
  function update<A extends Shown>(
    operation: string,
    resource: string,
    before: A | undefined,
    put: (after: A) => void,
    changed: (before: A) => A,
  ): cloud.Call<void> {
    if (before === undefined) throw new Error(`the plan changes ${resource}, which it has not read`);
    const after = changed(before);
    return change(operation, resource, changedFields(before, after), () => put(after));
  }

  function profilesOf({ account, region, profiles: real }: cloud.Session): cloud.Session['profiles'] {
    const keyOf = (cluster: string, name: string): string => `${account} ${region} ${cluster} ${name}`;
    const textOf = (name: string): string => `Fargate profile "${name}"`;
    type Changed = (profile: cloud.FargateProfile) => cloud.FargateProfile;
    const updateProfile = (operation: string, cluster: string, name: string, changed: Changed) => {
      const lookup = profiles.get(keyOf(cluster, name))?.answer;
      const before = lookup?.kind === 'found' ? lookup.profile : undefined;
      const put = (profile: cloud.FargateProfile) => profiles.put(keyOf(cluster, name), { kind: 'found', profile });
      return update(operation, textOf(name), before, put, changed);
    };
    const retag = (operation: string, arn: string, tagsOf: (tags: Tags) => Tags) => {
      const [, cluster = '', name = ''] = arn.split('/');
      return updateProfile(operation, cluster, name, (profile) => ({ ...profile, tags: tagsOf(profile.tags) }));
    };
    return {
      describe: (cluster, name) => profiles.read(keyOf(cluster, name), () => real.describe(cluster, name)),
      list: async (cluster) =>
        E.map((listing: cloud.ProfileListing): cloud.ProfileListing => {
          if (listing.kind !== 'listed') return listing;
          const names = new Set<string>(listing.names);
          const prefix = keyOf(cluster, '');
          for (const [key, { answer }] of profiles) {
            if (!key.startsWith(prefix)) continue;
            if (answer.kind === 'found') names.add(key.slice(prefix.length));
            else names.delete(key.slice(prefix.length));
          }
          return { kind: 'listed', names: [...names].map((name) => ProfileName.of(name)) };
        })(await listings.read(keyOf(cluster, ''), () => real.list(cluster))),
      create: (wanted) => {
        const { cluster, name } = wanted;
        const replaced = [...profiles]
          .flatMap(([key, { answer }]) =>
            key.startsWith(keyOf(cluster, '')) && answer.kind === 'found' ? answer.profile : [],
          )
          .find(({ status, tags }) => status === 'ACTIVE' && tags[OWNER_TAG] === wanted.tags[OWNER_TAG]);
        const ofCluster = clusterArn({ partition: cloud.partitionOf(region), region, account }, cluster);
        const arn = `${ofCluster.replace(':cluster/', ':fargateprofile/')}/${name}/planned`;
        const profile: cloud.FargateProfile = {
          ...wanted,
          arn,
          status: 'CREATING',
          createdAt: clock.now(),
          health: [],
        };
        return change('CreateFargateProfile', textOf(name), profileFields(wanted, replaced), () => {
          profiles.put(keyOf(cluster, name), { kind: 'found', profile });
          return profile;
        });
      },
      delete: (cluster, name) =>
        change(
          'DeleteFargateProfile',
          textOf(name),
          [],
          () => {
            const lookup = profiles.get(keyOf(cluster, name))?.answer;
            if (lookup?.kind !== 'found') throw new Error(`the plan deletes ${textOf(name)}, which it has not read`);
            profiles.put(keyOf(cluster, name), { ...lookup, profile: { ...lookup.profile, status: 'DELETING' } });
          },
          name,
        ),
      tag: (arn, added) => retag('TagResource', arn, (tags) => ({ ...tags, ...added })),
      untag: (arn, keys) => retag('UntagResource', arn, (tags) => without(tags, keys)),
    };
  }

  function rolesOf({ account, region, roles: real }: cloud.Session): cloud.Session['roles'] {
    const keyOf = (name: string, what = ''): string => `${account} ${name.toLowerCase()} ${what}`;
    const textOf = (name: string): string => `IAM role "${name}"`;
    const updateRole = (operation: string, name: RoleName, changed: (role: cloud.Role) => cloud.Role) =>
      update(operation, textOf(name), roles.get(keyOf(name))?.answer, (role) => roles.put(keyOf(name), role), changed);
    const attach = (operation: string, name: RoleName, field: 'before' | 'after', arn: string): cloud.Call<void> =>
      change(operation, textOf(name), [{ name: 'policyArn', [field]: arn }], () => {
        const others = (policies.get(keyOf(name))?.answer ?? []).filter((each) => each !== arn);
        policies.put(keyOf(name), field === 'after' ? [...others, arn] : others);
      });
    const readOfAll = <A>(answers: Answers<A>, call: (name: RoleName) => cloud.Call<A>, name: RoleName, what = '') =>
      answers.read(
        keyOf(name, what),
        () => call(name),
        () => rolesAhead().map((ahead) => [keyOf(ahead.name, what), () => call(ahead.name)] as const),
      );
    return {
      get: (name) => readOfAll(roles, (each) => real.get(each), name),
      attachedPolicies: (name) => readOfAll(policies, (each) => real.attachedPolicies(each), name),
      inlinePolicies: (name) => readOfAll(policies, (each) => real.inlinePolicies(each), name, 'inline'),
      instanceProfiles: (name) => readOfAll(policies, (each) => real.instanceProfiles(each), name, 'instance profiles'),
      create: (wanted) => {
        const { name, ...fields } = wanted;
        const arn = roleArn({ partition: cloud.partitionOf(region), account }, wanted.path, name);
        const role = { ...wanted, arn, id: 'AROAPLANNED', createdAt: clock.now() };
        return change('CreateRole', textOf(name), newFields(fields), () => {
          roles.put(keyOf(name), role);
          for (const what of ['', 'inline', 'instance profiles']) policies.put(keyOf(name, what), []);
          return role;
        });
      },
      delete: (name) => change('DeleteRole', textOf(name), [], () => roles.put(keyOf(name), undefined)),
      setTrust: (name, trust) => updateRole('UpdateAssumeRolePolicy', name, (role) => ({ ...role, trust })),
      setBoundary: (name, permissionsBoundary) =>
        updateRole('PutRolePermissionsBoundary', name, (role) => ({ ...role, permissionsBoundary })),
      removeBoundary: (name) =>
        updateRole('DeleteRolePermissionsBoundary', name, ({ permissionsBoundary: _boundary, ...role }) => role),
      attach: (name, arn) => attach('AttachRolePolicy', name, 'after', arn),
      detach: (name, arn) => attach('DetachRolePolicy', name, 'before', arn),
      tag: (name, tags) => updateRole('TagRole', name, (role) => ({ ...role, tags: { ...role.tags, ...tags } })),
      untag: (name, keys) => updateRole('UntagRole', name, (role) => ({ ...role, tags: without(role.tags, keys) })),
    };
  }

  function accessEntriesOf({ account, region, accessEntries: real }: cloud.Session): cloud.Session['accessEntries'] {
    const keyOf = (cluster: string, principal: RoleArn): string => `${account} ${region} ${cluster} ${principal}`;
    const textOf = (principal: RoleArn): string => `the access entry of ${principal}`;
    return {
      describe: (cluster, principal) =>
        entries.read(
          keyOf(cluster, principal),
          () => real.describe(cluster, principal),
          () =>
            rolesAhead()
              .map(({ name, path }) => roleArn({ partition: cloud.partitionOf(region), account }, path, name))
              .map((arn) => [keyOf(cluster, arn), () => real.describe(cluster, arn)] as const),
        ),
      create: (cluster, principal) => {
        const entry = { type: 'FARGATE_LINUX', createdAt: clock.now() };
        return change('CreateAccessEntry', textOf(principal), newFields({ type: entry.type }), () =>
          entries.put(keyOf(cluster, principal), { kind: 'found', entry }),
        );
      },
      delete: (cluster, principal) =>
        change('DeleteAccessEntry', textOf(principal), [], () =>
          entries.put(keyOf(cluster, principal), { kind: 'absent' }),
        ),
    };
  }

  return {
    open: async (...request: Parameters<cloud.Sessions['open']>): ReturnType<cloud.Sessions['open']> =>
      E.map((session: cloud.Session) => ({
        ...session,
        profiles: profilesOf(session),
        roles: rolesOf(session),
        accessEntries: accessEntriesOf(session),
        now: () => clock.now(),
      }))(await live.open(...request)),

    /** Finishes the profile creations and deletions that are in progress in EKS, and describes them. */
    finishChanges: (): readonly string[] =>
      [...profiles].flatMap(([key, { answer }]) => {
        if (answer.kind !== 'found') return [];
        const { name, status } = answer.profile;
        if (status !== 'CREATING' && status !== 'DELETING') return [];
        const isNew = status === 'CREATING';
        profiles.put(key, isNew ? { ...answer, profile: { ...answer.profile, status: 'ACTIVE' } } : { kind: 'absent' });
        return [`EKS has ${isNew ? 'created' : 'deleted'} Fargate profile "${name}"`];
      }),
  };
}

type Tags = cloud.Role['tags'];
type Shown = Pick<cloud.Role, 'tags'> & Partial<Pick<cloud.Role, 'trust' | 'permissionsBoundary'>>;

const without = (tags: Tags, keys: readonly string[]): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !keys.includes(key)));

const newFields = (fields: Readonly<Record<string, unknown>>): readonly ChangedField[] =>
  Object.entries(fields).flatMap(([name, after]) => (after === undefined ? [] : [{ name, after }]));

type NewProfile = Parameters<cloud.Session['profiles']['create']>[0];

/** `old` is the profile that the new one replaces. If `wanted` has no subnets, EKS chooses them. */
export function profileFields(wanted: NewProfile, old: cloud.FargateProfile | undefined): readonly ChangedField[] {
  const { cluster: _cluster, name: after, ...fields } = wanted;
  const all = newFields(fields);
  if (old === undefined) return all;
  const { name: replaces, podExecutionRoleArn, selectors, subnets } = old;
  const changed = {
    ...(wanted.podExecutionRoleArn !== podExecutionRoleArn && { podExecutionRoleArn }),
    ...(!areSelectorsEqual(wanted.selectors, selectors) && { selectors }),
    ...(wanted.subnets.length > 0 && !areSubnetsEqual(wanted.subnets, subnets) && { subnets }),
  };
  const before = new Map<string, unknown>(Object.entries(changed));
  if (before.size === 0) return [{ name: 'fargateProfileName', before: replaces, after, replaces }, ...all];
  const uncovered = selectors.filter((each) => !wanted.selectors.some((other) => doesSelectorCover(other, each)));
  return all.map((each) => {
    if (!before.has(each.name)) return each;
    const isUncovered = each.name === 'selectors' && uncovered.length > 0;
    return { ...each, before: before.get(each.name), replaces, ...(isUncovered && { uncovered }) };
  });
}

/** Compares the fields that an update of a role or profile can change. */
function changedFields(before: Shown, after: Shown): readonly ChangedField[] {
  const shown = ({ trust, permissionsBoundary, tags }: Shown): Readonly<Record<string, string | undefined>> => {
    const ofTags = Object.entries(tags).map(([key, value]) => [`tags["${key}"]`, value] as const);
    return { trust, permissionsBoundary, ...Object.fromEntries(ofTags) };
  };
  const [old, now] = [shown(before), shown(after)];
  const names = Object.keys({ ...old, ...now }).filter((name) => old[name] !== now[name]);
  return names.map((name) => ({ name, before: old[name], after: now[name] }));
}
