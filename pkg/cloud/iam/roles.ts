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
import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { ignoreNotFound, listAllPages, mutate, type Page } from '../call/responses.ts';
import type { CallFactory, Call } from '../call/call.ts';
import type { PodExecutionRoles, Role } from './iam-api.ts';
import {
  AttachedPoliciesResponse,
  InlinePoliciesResponse,
  InstanceProfilesResponse,
  RoleResponse,
} from './responses.ts';

/** The largest `MaxItems` that IAM allows. */
const PAGE_SIZE = 1000;

export function podExecutionRoles(client: IAMClient, call: CallFactory): PodExecutionRoles {
  const listPages = (
    operation: string,
    response: t.Decoder<unknown, Page<string>>,
    send: (marker: string | undefined) => Promise<unknown>,
  ): Call<readonly string[]> =>
    listAllPages({ service: 'iam', operation }, (marker) =>
      call({ operation, kind: 'read', send: () => send(marker), response }),
    );

  return {
    get: (RoleName) =>
      ignoreNotFound(
        call({
          operation: 'GetRole',
          kind: 'read',
          send: () => client.send(new GetRoleCommand({ RoleName })),
          response: RoleResponse,
        }),
      ),

    attachedPolicies: (RoleName) =>
      listPages('ListAttachedRolePolicies', AttachedPoliciesResponse, (Marker) =>
        client.send(new ListAttachedRolePoliciesCommand({ RoleName, Marker, MaxItems: PAGE_SIZE })),
      ),

    inlinePolicies: (RoleName) =>
      listPages('ListRolePolicies', InlinePoliciesResponse, (Marker) =>
        client.send(new ListRolePoliciesCommand({ RoleName, Marker, MaxItems: PAGE_SIZE })),
      ),

    instanceProfiles: (RoleName) =>
      listPages('ListInstanceProfilesForRole', InstanceProfilesResponse, (Marker) =>
        client.send(new ListInstanceProfilesForRoleCommand({ RoleName, Marker, MaxItems: PAGE_SIZE })),
      ),

    create: async ({ name, path, trust, permissionsBoundary, tags }) => {
      const created = await call({
        operation: 'CreateRole',
        kind: 'mutation',
        send: () =>
          client.send(
            new CreateRoleCommand({
              RoleName: name,
              Path: path,
              AssumeRolePolicyDocument: trust,
              PermissionsBoundary: permissionsBoundary,
              Tags: toIamTags(tags),
            }),
          ),
        response: RoleResponse,
      });
      // IAM does not guarantee that the response contains tags and permissions boundary, so they come from the request.
      return E.map((role: Role) => ({
        ...role,
        tags,
        ...(permissionsBoundary !== undefined && { permissionsBoundary }),
      }))(created);
    },

    delete: (RoleName) => mutate(call, 'DeleteRole', () => client.send(new DeleteRoleCommand({ RoleName }))),

    setTrust: (RoleName, PolicyDocument) =>
      mutate(call, 'UpdateAssumeRolePolicy', () =>
        client.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument })),
      ),

    setBoundary: (RoleName, PermissionsBoundary) =>
      mutate(call, 'PutRolePermissionsBoundary', () =>
        client.send(new PutRolePermissionsBoundaryCommand({ RoleName, PermissionsBoundary })),
      ),

    removeBoundary: (RoleName) =>
      ignoreNotFound(
        mutate(call, 'DeleteRolePermissionsBoundary', () =>
          client.send(new DeleteRolePermissionsBoundaryCommand({ RoleName })),
        ),
      ),

    attach: (RoleName, PolicyArn) =>
      mutate(call, 'AttachRolePolicy', () => client.send(new AttachRolePolicyCommand({ RoleName, PolicyArn }))),

    detach: (RoleName, PolicyArn) =>
      ignoreNotFound(
        mutate(call, 'DetachRolePolicy', () => client.send(new DetachRolePolicyCommand({ RoleName, PolicyArn }))),
      ),

    tag: (RoleName, tags) =>
      mutate(call, 'TagRole', () => client.send(new TagRoleCommand({ RoleName, Tags: toIamTags(tags) }))),

    untag: (RoleName, keys) =>
      ignoreNotFound(
        mutate(call, 'UntagRole', () => client.send(new UntagRoleCommand({ RoleName, TagKeys: [...keys] }))),
      ),
  };
}

const toIamTags = (tags: Readonly<Record<string, string>>): { Key: string; Value: string }[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
