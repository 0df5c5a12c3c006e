import type { Ms } from 'controller-runtime/env';
import type { RoleArn, RoleName } from '../../../api/names.ts';
import type { Call } from '../call/call.ts';

/** `trust` is the trust policy. It is URL-decoded text and not an object, because it is not always valid JSON. */
export interface Role {
  readonly name: RoleName;
  readonly arn: RoleArn;
  /** IAM's unique ID (AROA…). A recreated role gets a new ID. */
  readonly id: string;
  /** In ms since 1970. IAM returns whole seconds. */
  readonly createdAt: Ms;
  readonly path: string;
  readonly trust: string;
  readonly permissionsBoundary?: string;
  readonly tags: Readonly<Record<string, string>>;
}

export type NewRole = Pick<Role, 'name' | 'path' | 'trust' | 'permissionsBoundary' | 'tags'>;

/** `detach`, `untag`, and `removeBoundary` succeed when IAM responds NoSuchEntity. */
export interface PodExecutionRoles {
  get(name: RoleName): Call<Role | undefined>;
  attachedPolicies(name: RoleName): Call<readonly string[]>;
  inlinePolicies(name: RoleName): Call<readonly string[]>;
  instanceProfiles(name: RoleName): Call<readonly string[]>;
  create(role: NewRole): Call<Role>;
  delete(name: RoleName): Call<void>;
  setTrust(name: RoleName, trust: string): Call<void>;
  setBoundary(name: RoleName, policyArn: string): Call<void>;
  removeBoundary(name: RoleName): Call<void>;
  attach(name: RoleName, policyArn: string): Call<void>;
  detach(name: RoleName, policyArn: string): Call<void>;
  tag(name: RoleName, tags: Readonly<Record<string, string>>): Call<void>;
  untag(name: RoleName, keys: readonly string[]): Call<void>;
}
