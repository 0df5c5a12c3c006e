import { isRight, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { ProfileName, type RoleArn, type RoleName } from '../../../api/names.ts';
import type {
  AccessEntryLookup,
  Call,
  FargateProfile,
  ProfileLookup,
  Role,
  Session,
  Sessions,
} from '../../../pkg/cloud/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import { clusterArn, partitionOf, roleArn } from '../../../pkg/fargate/arns.ts';

/** A change in AWS, in the words of AWS's API. */
export interface PlannedChange {
  readonly operation: string;
  readonly resource: string;
  readonly fields: readonly ChangedField[];
}

export interface ChangedField {
  readonly name: string;
  /** `undefined`: the field is not set yet. */
  readonly before?: unknown;
  /** `undefined`: the field is removed. */
  readonly after?: unknown;
}

/** The answers of AWS to the first reads of one kind, and then what the planned changes have made of them. */
class Answers<A> extends Map<string, { readonly answer: A }> {
  /** Errors are not remembered. */
  read(key: string, call: Call<A>): Call<A> {
    return async () => {
      const known = this.get(key);
      if (known !== undefined) return right(known.answer);
      const result = await call();
      if (isRight(result)) this.set(key, { answer: result.right });
      return result;
    };
  }
}

/**
 * AWS as it would be after the changes of the controller. Each fact comes from AWS when it is first read; a change stays
 * in memory, and `onChange` is told.
 */
export class PlannedAws implements Sessions {
  private readonly live: Sessions;
  private readonly clock: Pick<Clock, 'now'>;
  private readonly onChange: (change: PlannedChange) => void;
  private readonly profiles = new Answers<ProfileLookup>();
  private readonly roles = new Answers<Role | undefined>();
  private readonly policies = new Answers<readonly string[]>();
  private readonly entries = new Answers<AccessEntryLookup>();

  constructor(live: Sessions, clock: Pick<Clock, 'now'>, onChange: (change: PlannedChange) => void) {
    this.live = live;
    this.clock = clock;
    this.onChange = onChange;
  }

  open(...request: Parameters<Sessions['open']>): ReturnType<Sessions['open']> {
    return pipe(
      this.live.open(...request),
      TE.map((session) => ({
        ...session,
        profiles: this.profilesOf(session),
        roles: this.rolesOf(session),
        accessEntries: this.accessEntriesOf(session),
      })),
    );
  }

  /** Lets EKS finish the changes of profiles. Returns what it has finished, in words. */
  finishChanges(): readonly string[] {
    return [...this.profiles].flatMap(([key, { answer: lookup }]) => {
      if (lookup.kind !== 'found') return [];
      const { name, status } = lookup.profile;
      if (status !== 'CREATING' && status !== 'DELETING') return [];
      const isNew = status === 'CREATING';
      this.profiles.set(key, isNew ? found({ ...lookup.profile, status: 'ACTIVE' }) : { answer: { kind: 'absent' } });
      return [`EKS has ${isNew ? 'created' : 'deleted'} Fargate profile "${name}"`];
    });
  }

  private profilesOf({ account, region, profiles: live }: Session): Session['profiles'] {
    const { profiles } = this;
    const keyOf = (cluster: string, name: string): string => `${account} ${region} ${cluster} ${name}`;
    const retag = (operation: string, arn: string, tagsOf: (tags: Tags) => Tags): Call<void> =>
      this.change(() => {
        const [key, profile] = profileIn(profiles, arn);
        const tags = tagsOf(profile.tags);
        profiles.set(key, found({ ...profile, tags }));
        return [operation, profileText(profile.name), tagFields(profile.tags, tags), undefined];
      });
    return {
      describe: (cluster, name) => profiles.read(keyOf(cluster, name), live.describe(cluster, name)),
      list: (cluster) =>
        pipe(
          live.list(cluster),
          TE.map((listing) => {
            if (listing.kind !== 'listed') return listing;
            const names = new Set<string>(listing.names);
            const prefix = keyOf(cluster, '');
            for (const [key, { answer: lookup }] of profiles) {
              if (!key.startsWith(prefix)) continue;
              if (lookup.kind === 'found') names.add(key.slice(prefix.length));
              else names.delete(key.slice(prefix.length));
            }
            return { kind: 'listed', names: [...names].map((name) => ProfileName.of(name)) };
          }),
        ),
      create: (wanted) =>
        this.change(() => {
          const { cluster, name, ...fields } = wanted;
          const ofCluster = clusterArn({ partition: partitionOf(region), region, account }, cluster);
          const arn = `${ofCluster.replace(':cluster/', ':fargateprofile/')}/${name}/planned`;
          const profile: FargateProfile = { ...wanted, arn, status: 'CREATING', health: [] };
          profiles.set(keyOf(cluster, name), found(profile));
          return ['CreateFargateProfile', profileText(name), newFields(fields), profile];
        }),
      delete: (cluster, name) =>
        this.change(() => {
          const lookup = profiles.get(keyOf(cluster, name))?.answer;
          if (lookup?.kind === 'found')
            profiles.set(keyOf(cluster, name), found({ ...lookup.profile, status: 'DELETING' }));
          return ['DeleteFargateProfile', profileText(name), [], undefined];
        }),
      tag: (arn, added) => retag('eks:TagResource', arn, (tags) => ({ ...tags, ...added })),
      untag: (arn, keys) => retag('eks:UntagResource', arn, (tags) => without(tags, keys)),
    };
  }

  private rolesOf({ account, region, roles: live }: Session): Session['roles'] {
    const { roles, policies } = this;
    const keyOf = (name: string, what = ''): string => `${account} ${name.toLowerCase()} ${what}`;
    const update = (operation: string, name: RoleName, changed: (role: Role) => Role): Call<void> =>
      this.change(() => {
        const role = roles.get(keyOf(name))?.answer;
        if (role === undefined) throw new Error(`the plan changes role ${name}, which it has not read`);
        const after = changed(role);
        roles.set(keyOf(name), { answer: after });
        const fields = (['trust', 'permissionsBoundary'] as const).flatMap((field) =>
          role[field] === after[field] ? [] : [{ name: field, before: role[field], after: after[field] }],
        );
        return [operation, roleText(name), [...fields, ...tagFields(role.tags, after.tags)], undefined];
      });
    const attach = (operation: string, name: RoleName, field: ChangedField, added: readonly string[]): Call<void> =>
      this.change(() => {
        const others = (policies.get(keyOf(name))?.answer ?? []).filter(
          (arn) => arn !== field.before && arn !== field.after,
        );
        policies.set(keyOf(name), { answer: [...others, ...added] });
        return [operation, roleText(name), [field], undefined];
      });
    return {
      get: (name) => roles.read(keyOf(name), live.get(name)),
      attachedPolicies: (name) => policies.read(keyOf(name), live.attachedPolicies(name)),
      inlinePolicies: (name) => policies.read(keyOf(name, 'inline'), live.inlinePolicies(name)),
      instanceProfiles: (name) => policies.read(keyOf(name, 'instance profiles'), live.instanceProfiles(name)),
      create: (wanted) =>
        this.change(() => {
          const { name, ...fields } = wanted;
          const arn = roleArn({ partition: partitionOf(region), account }, wanted.path, name);
          const role = { ...wanted, arn, id: 'AROAPLANNED', createdAt: this.clock.now() };
          roles.set(keyOf(name), { answer: role });
          for (const what of ['', 'inline', 'instance profiles']) policies.set(keyOf(name, what), { answer: [] });
          return ['CreateRole', roleText(name), newFields(fields), role];
        }),
      delete: (name) =>
        this.change(() => {
          roles.set(keyOf(name), { answer: undefined });
          return ['DeleteRole', roleText(name), [], undefined];
        }),
      setTrust: (name, trust) => update('UpdateAssumeRolePolicy', name, (role) => ({ ...role, trust })),
      setBoundary: (name, permissionsBoundary) =>
        update('PutRolePermissionsBoundary', name, (role) => ({ ...role, permissionsBoundary })),
      removeBoundary: (name) =>
        update('DeleteRolePermissionsBoundary', name, ({ permissionsBoundary: _boundary, ...role }) => role),
      attach: (name, arn) => attach('AttachRolePolicy', name, { name: 'policyArn', after: arn }, [arn]),
      detach: (name, arn) => attach('DetachRolePolicy', name, { name: 'policyArn', before: arn }, []),
      tag: (name, tags) => update('TagRole', name, (role) => ({ ...role, tags: { ...role.tags, ...tags } })),
      untag: (name, keys) => update('UntagRole', name, (role) => ({ ...role, tags: without(role.tags, keys) })),
    };
  }

  private accessEntriesOf({ account, region, accessEntries: live }: Session): Session['accessEntries'] {
    const { entries } = this;
    const keyOf = (cluster: string, principal: RoleArn): string => `${account} ${region} ${cluster} ${principal}`;
    return {
      describe: (cluster, principal) => entries.read(keyOf(cluster, principal), live.describe(cluster, principal)),
      create: (cluster, principalArn) =>
        this.change(() => {
          const entry = { principalArn, type: 'FARGATE_LINUX', createdAt: this.clock.now() };
          entries.set(keyOf(cluster, principalArn), { answer: { kind: 'found', entry } });
          return ['CreateAccessEntry', entryText(principalArn), newFields({ type: entry.type }), entry];
        }),
      delete: (cluster, principal) =>
        this.change(() => {
          entries.set(keyOf(cluster, principal), { answer: { kind: 'absent' } });
          return ['DeleteAccessEntry', entryText(principal), [], undefined];
        }),
    };
  }

  private change<A>(
    make: () => readonly [operation: string, resource: string, fields: readonly ChangedField[], answer: A],
  ): Call<A> {
    return async () => {
      const [operation, resource, fields, answer] = make();
      this.onChange({ operation, resource, fields });
      return right(answer);
    };
  }
}

type Tags = Role['tags'];

const found = (profile: FargateProfile) => ({ answer: { kind: 'found', profile } }) as const;

function profileIn(profiles: Answers<ProfileLookup>, arn: string): readonly [key: string, profile: FargateProfile] {
  for (const [key, { answer: lookup }] of profiles)
    if (lookup.kind === 'found' && lookup.profile.arn === arn) return [key, lookup.profile];
  throw new Error(`the plan tags ${arn}, which it has not read`);
}

const profileText = (name: string): string => `Fargate profile "${name}"`;
const roleText = (name: string): string => `IAM role "${name}"`;
const entryText = (principal: RoleArn): string => `the access entry of ${principal}`;

const without = (tags: Tags, keys: readonly string[]): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !keys.includes(key)));

function newFields(fields: Readonly<Record<string, unknown>>): readonly ChangedField[] {
  return Object.entries(fields).flatMap(([name, after]) => (after === undefined ? [] : [{ name, after }]));
}

const tagFields = (before: Tags, after: Tags): readonly ChangedField[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    before[key] === after[key] ? [] : [{ name: `tags["${key}"]`, before: before[key], after: after[key] }],
  );
