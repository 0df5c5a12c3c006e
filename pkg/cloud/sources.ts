import * as TE from 'fp-ts/lib/TaskEither.js';
import type { CredentialSource, CredentialSources } from './credentials.ts';
import type { CredentialsProblem } from './types.ts';

/**
 * The manager's own credentials for control planes that name no identity, or the one that stands for them:
 * AWSClusterControllerIdentity `default`. Other identities are refused in words.
 */
export function ownSource(own: CredentialSource): CredentialSources {
  return {
    find: (identity) => {
      if (identity === undefined || (identity.kind === 'AWSClusterControllerIdentity' && identity.name === 'default')) {
        return TE.right(own);
      }
      const named = `${identity.kind} "${identity.name}"`;
      return TE.left<CredentialsProblem>(
        identity.kind === 'AWSClusterControllerIdentity'
          ? {
              reason: 'IdentityNotFound',
              message: `the control plane names ${named}; the only AWSClusterControllerIdentity there can be is "default"`,
            }
          : {
              reason: 'IdentityInvalid',
              message:
                `the control plane names ${named}, which this version cannot use: it knows the manager's own ` +
                'credentials alone, for which the control plane names no identity or AWSClusterControllerIdentity "default"',
            },
      );
    },
  };
}
