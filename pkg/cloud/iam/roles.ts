import {
  AttachRolePolicyCommand,
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePermissionsBoundaryCommand,
  DetachRolePolicyCommand,
  GetRoleCommand,
  ListAttachedRolePoliciesCommand,
  ListInstanceProfilesForRoleCommand,
  ListRolePoliciesCommand,
  PutRolePermissionsBoundaryCommand,
  TagRoleCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
} from '@aws-sdk/client-iam';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { Option } from 'fp-ts/lib/Option.js';
import * as O from 'fp-ts/lib/Option.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import type * as t from 'io-ts';
import { done } from '../answers.ts';
import type { Calling } from '../call.ts';
import { isNotFound } from '../errors.ts';
import type { Page } from '../paging.ts';
import { allPages } from '../paging.ts';
import type { DispatchOptions } from '../sdk-handler.ts';
import type { Call, PodExecutionRoles, Role } from '../types.ts';
import { AttachedPoliciesAnswer, InlinePoliciesAnswer, InstanceProfilesAnswer, RoleAnswer } from './answers.ts';

/** What IAM gives at most in one page, and what it takes at most in one call. */
const PAGE_SIZE = 1000;

export function podExecutionRoles(client: IAMClient, call: Calling): PodExecutionRoles {
  const mutation = (operation: string, send: (options: DispatchOptions) => Promise<unknown>): Call<void> =>
    call({ operation, kind: 'mutation', send, answer: done });
  const pages = (
    operation: string,
    answer: t.Decoder<unknown, Page<string>>,
    send: (marker: string | undefined, options: DispatchOptions) => Promise<unknown>,
  ): Call<readonly string[]> =>
    allPages({ service: 'iam', operation }, (marker) =>
      call({ operation, kind: 'read', send: (options) => send(marker, options), answer }),
    );

  return {
    get: (RoleName) =>
      pipe(
        call({
          operation: 'GetRole',
          kind: 'read',
          send: (options) => client.send(new GetRoleCommand({ RoleName }), options),
          answer: RoleAnswer,
        }),
        TE.map(O.some),
        TE.orElse((failure) =>
          isNotFound(failure) ? TE.right<typeof failure, Option<Role>>(O.none) : TE.left(failure),
        ),
      ),

    attachedPolicies: (RoleName) =>
      pages('ListAttachedRolePolicies', AttachedPoliciesAnswer, (Marker, options) =>
        client.send(new ListAttachedRolePoliciesCommand({ RoleName, Marker, MaxItems: PAGE_SIZE }), options),
      ),

    inlinePolicies: (RoleName) =>
      pages('ListRolePolicies', InlinePoliciesAnswer, (Marker, options) =>
        client.send(new ListRolePoliciesCommand({ RoleName, Marker, MaxItems: PAGE_SIZE }), options),
      ),

    instanceProfiles: (RoleName) =>
      pages('ListInstanceProfilesForRole', InstanceProfilesAnswer, (Marker, options) =>
        client.send(new ListInstanceProfilesForRoleCommand({ RoleName, Marker, MaxItems: PAGE_SIZE }), options),
      ),

    create: ({ name, path, trust, permissionsBoundary, tags }) =>
      pipe(
        call({
          operation: 'CreateRole',
          kind: 'mutation',
          send: (options) =>
            client.send(
              new CreateRoleCommand({
                RoleName: name,
                Path: path,
                AssumeRolePolicyDocument: trust,
                PermissionsBoundary: permissionsBoundary,
                Tags: pairs(tags),
              }),
              options,
            ),
          answer: RoleAnswer,
        }),
        // The answer leaves out what it was asked for: IAM's documentation promises neither tags nor boundary in it.
        TE.map((role) => ({
          ...role,
          tags,
          ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
        })),
      ),

    delete: (RoleName) =>
      mutation('DeleteRole', (options) => client.send(new DeleteRoleCommand({ RoleName }), options)),

    setTrust: (RoleName, PolicyDocument) =>
      mutation('UpdateAssumeRolePolicy', (options) =>
        client.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument }), options),
      ),

    setBoundary: (RoleName, PermissionsBoundary) =>
      mutation('PutRolePermissionsBoundary', (options) =>
        client.send(new PutRolePermissionsBoundaryCommand({ RoleName, PermissionsBoundary }), options),
      ),

    removeBoundary: (RoleName) =>
      goneIsFine(
        mutation('DeleteRolePermissionsBoundary', (options) =>
          client.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }), options),
        ),
      ),

    attach: (RoleName, PolicyArn) =>
      mutation('AttachRolePolicy', (options) =>
        client.send(new AttachRolePolicyCommand({ RoleName, PolicyArn }), options),
      ),

    detach: (RoleName, PolicyArn) =>
      goneIsFine(
        mutation('DetachRolePolicy', (options) =>
          client.send(new DetachRolePolicyCommand({ RoleName, PolicyArn }), options),
        ),
      ),

    tag: (RoleName, tags) =>
      Object.keys(tags).length === 0
        ? TE.right(undefined)
        : mutation('TagRole', (options) => client.send(new TagRoleCommand({ RoleName, Tags: pairs(tags) }), options)),

    untag: (RoleName, keys) =>
      keys.length === 0
        ? TE.right(undefined)
        : goneIsFine(
            mutation('UntagRole', (options) =>
              client.send(new UntagRoleCommand({ RoleName, TagKeys: [...keys] }), options),
            ),
          ),
  };
}

/** What is to be taken away is not there. */
const goneIsFine = (call: Call<void>): Call<void> =>
  pipe(
    call,
    TE.orElse((failure) => (isNotFound(failure) ? TE.right<typeof failure, void>(undefined) : TE.left(failure))),
  );

const pairs = (tags: Readonly<Record<string, string>>): { Key: string; Value: string }[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
