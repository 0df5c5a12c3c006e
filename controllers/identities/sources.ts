import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { AWSClusterRoleIdentity, AWSClusterStaticIdentity } from '../../api/external/identity.ts';
import type { AssumingConfig } from '../../pkg/cloud/assumed-role.ts';
import { assumedRole } from '../../pkg/cloud/assumed-role.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { CredentialSource, CredentialSources } from '../../pkg/cloud/credentials.ts';
import type { CredentialsProblem, CredentialsProblemReason } from '../../pkg/cloud/types.ts';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { refOf, resolve } from './resolve.ts';
import type { World } from './resolve.ts';
import type { SecretReading, Secrets } from './secrets.ts';

/** STS's own default, and the most that a role assumed with another role's session may last. */
const DEFAULT_SECONDS = 3_600;
/** AWS' limit for a session's name. */
const LONGEST_SESSION_NAME = 64;

export interface SourcesOptions {
  /** The manager's own credentials. */
  readonly own: CredentialSource;
  readonly world: World;
  readonly secrets: Secrets;
  readonly assuming: AssumingConfig;
}

/** A source of credentials, and what people call it. */
interface Named {
  readonly source: CredentialSource;
  readonly name: string;
}

/**
 * The credentials of Cluster API Provider AWS's identities.
 *
 * The key of a source holds all that its credentials come from, the whole chain of identities with their generations and
 * the version of the Secret: after a change of any of these the former credentials are not used again.
 */
export function identitySources({ own, world, secrets, assuming }: SourcesOptions): CredentialSources {
  const rootOf = (
    identity: AWSClusterStaticIdentity | undefined,
    signal: AbortSignal,
  ): TE.TaskEither<CredentialsProblem, Named> =>
    identity === undefined
      ? TE.right({ source: own, name: credentialsName(undefined) })
      : pipe(
          TE.tryCatch(() => secrets.read(identity.spec.secretRef, signal), interrupted),
          TE.chainEitherK((reading) => keysOf(identity, reading, secrets)),
        );
  const assumed = (base: Named, identity: AWSClusterRoleIdentity): Named => ({
    source: assumedRole(assuming, {
      key: `${base.source.key} ${identity.metadata.uid}/${identity.metadata.generation ?? identity.metadata.resourceVersion}`,
      role: roleOf(identity),
      base: base.source,
      baseName: base.name,
    }),
    name: credentialsName(refOf(identity)),
  });
  return {
    find: (reference, namespace, signal) =>
      pipe(
        TE.fromEither(resolve(reference, namespace, world)),
        TE.chain(({ root, roles }) =>
          pipe(
            rootOf(root, signal),
            TE.map((base) => roles.reduce(assumed, base).source),
          ),
        ),
      ),
  };
}

function keysOf(
  identity: AWSClusterStaticIdentity,
  reading: SecretReading,
  secrets: Secrets,
): E.Either<CredentialsProblem, Named> {
  const { secretRef } = identity.spec;
  const name = credentialsName(refOf(identity));
  const fault = (reason: CredentialsProblemReason, what: string): E.Either<CredentialsProblem, never> =>
    E.left({ reason, message: `Secret ${secrets.namespace}/${secretRef} of ${name} ${what}` });
  switch (reading.kind) {
    case 'absent':
      return fault('SecretNotFound', 'does not exist');
    case 'incomplete':
      return fault('SecretIncomplete', `has no ${reading.missing.join(' and no ')}`);
    case 'unreadable':
      return fault('IdentityUnreadable', `cannot be read: ${reading.why}`);
    case 'complete':
      return E.right({
        source: {
          key: `Secret ${reading.version}`,
          fetch: async () => reading.credentials,
          refused: () => secrets.forget(secretRef),
        },
        name,
      });
  }
}

function roleOf({ metadata, spec }: AWSClusterRoleIdentity): Parameters<typeof assumedRole>[1]['role'] {
  const { roleARN, sessionName, durationSeconds, externalID, inlinePolicy, policyARNs } = spec;
  return {
    arn: roleARN,
    sessionName: sessionName ?? `capaf-${metadata.name}`.slice(0, LONGEST_SESSION_NAME),
    durationSeconds: durationSeconds ?? DEFAULT_SECONDS,
    ...(externalID !== undefined && { externalId: externalID }),
    ...(inlinePolicy !== undefined && { inlinePolicy }),
    policyArns: policyARNs ?? [],
  };
}

const interrupted = (error: unknown): CredentialsProblem => ({
  reason: 'Interrupted',
  message: `the Secret was not read: ${errorMessage(error)}`,
});
