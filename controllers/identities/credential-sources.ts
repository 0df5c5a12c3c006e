import * as E from 'fp-ts/lib/Either.js';
import { errorMessage } from 'controller-runtime/text';
import type { AWSClusterRoleIdentity, AWSClusterStaticIdentity } from '../../api/external/identity.ts';
import {
  type AssumedRoleConfig,
  type AwsCredentialSource,
  type AwsCredentialSources,
  type CredentialsProblem,
  type CredentialsProblemReason,
  newAssumedRoleSource,
  credentialsName,
  DEFAULT_DURATION_SECONDS,
  defaultSessionName,
} from '../../pkg/cloud/index.ts';
import { identityRefOf, resolveIdentity, type IdentityCaches } from './identity-chain.ts';
import type { SecretState, Secrets } from './secrets.ts';

interface CredentialSourcesOptions {
  readonly own: AwsCredentialSource;
  readonly caches: IdentityCaches;
  readonly secrets: Secrets;
  readonly assuming: AssumedRoleConfig;
}

interface NamedSource {
  readonly source: AwsCredentialSource;
  /** For messages, such as `AWSClusterStaticIdentity "team-a"`. */
  readonly name: string;
}

/**
 * A source's key contains the version of the Secret, and the UID and generation of each AWSClusterRoleIdentity, so
 * credentials from before a change of these are not reused.
 */
export function newCredentialSources(options: CredentialSourcesOptions): AwsCredentialSources {
  const { own, caches, secrets, assuming } = options;
  const readBase = async (
    identity: AWSClusterStaticIdentity | undefined,
    signal: AbortSignal,
  ): Promise<E.Either<CredentialsProblem, NamedSource>> => {
    if (identity === undefined) return E.right({ source: own, name: credentialsName(undefined) });
    try {
      return sourceFromSecret(identity, await secrets.read(identity.spec.secretRef, signal), secrets);
    } catch (error) {
      const message = `reading the Secret was interrupted: ${errorMessage(error)}`;
      return E.left({ reason: 'Interrupted', message });
    }
  };
  const assumeRoleOf = (base: NamedSource, identity: AWSClusterRoleIdentity): NamedSource => {
    const name = credentialsName(identityRefOf(identity));
    const source = newAssumedRoleSource(assuming, {
      key: `${base.source.key} ${identity.metadata.uid}/${identity.metadata.generation ?? identity.metadata.resourceVersion}`,
      role: roleToAssume(identity),
      base: base.source,
      baseName: base.name,
      namedBy: name,
    });
    return { source, name };
  };
  return {
    find: async (reference, namespace, signal, field) => {
      const chain = resolveIdentity(reference, namespace, caches, field);
      if (E.isLeft(chain)) return chain;
      const base = await readBase(chain.right.staticIdentity, signal);
      return E.isLeft(base) ? base : E.right(chain.right.roleIdentities.reduce(assumeRoleOf, base.right).source);
    },
  };
}

function sourceFromSecret(
  identity: AWSClusterStaticIdentity,
  state: SecretState,
  secrets: Secrets,
): E.Either<CredentialsProblem, NamedSource> {
  const { secretRef } = identity.spec;
  const name = credentialsName(identityRefOf(identity));
  const secret = `Secret ${secrets.namespace}/${secretRef}`;
  const failWith = (
    reason: CredentialsProblemReason,
    what: string,
    facts: Pick<CredentialsProblem, 'missing' | 'obstacle'> = {},
  ) => E.left({ reason, message: `${secret} of ${name} ${what}`, ...facts });
  switch (state.kind) {
    case 'absent':
      return failWith('SecretNotFound', 'does not exist', { missing: secret });
    case 'incomplete':
      return failWith('SecretIncomplete', `has no ${state.missing.join(' and no ')}`);
    case 'unreadable':
      return failWith('IdentityUnreadable', `cannot be read: ${state.reason}`, {
        ...(state.obstacle && { obstacle: state.obstacle }),
      });
    case 'complete':
      return E.right({
        source: {
          key: `Secret ${state.version}`,
          fetch: async () => state.credentials,
          onRejected: () => secrets.forget(secretRef),
        },
        name,
      });
  }
}

function roleToAssume({ metadata, spec }: AWSClusterRoleIdentity): Parameters<typeof newAssumedRoleSource>[1]['role'] {
  const { roleARN, sessionName, durationSeconds, externalID, inlinePolicy, policyARNs } = spec;
  return {
    arn: roleARN,
    sessionName: sessionName ?? defaultSessionName(metadata.name),
    durationSeconds: durationSeconds ?? DEFAULT_DURATION_SECONDS,
    ...(externalID !== undefined && { externalId: externalID }),
    ...(inlinePolicy !== undefined && { inlinePolicy }),
    policyArns: policyARNs ?? [],
  };
}
