import type { Logger } from '../../env/logger.ts';
import type { HttpHandler, HttpResponse } from '../http/http-server.ts';
import type { AccessAuthorizer } from './access-review.ts';
import type { TokenAuthenticator } from './token-review.ts';

export interface AuthorizationOptions {
  readonly authenticator: Pick<TokenAuthenticator, 'authenticate'>;
  readonly authorizer: Pick<AccessAuthorizer, 'isAllowed'>;
  readonly logger: Logger;
}

const UNAUTHORIZED: HttpResponse = {
  status: 401,
  body: 'Unauthorized\n',
  headers: { 'www-authenticate': 'Bearer' },
};
const NO_ANSWER: HttpResponse = { status: 500, body: 'the API server has not reviewed the request\n' };

/**
 * Passes a request on to `handler` if the API server accepts its bearer token, and RBAC allows the user of the token to
 * access the path. The other responses are those of controller-runtime's metrics server: 401 without a valid token, 403
 * without permission, 500 if the review of the token or of the permission fails.
 */
export function authorizedHandler(handler: HttpHandler, options: AuthorizationOptions): HttpHandler {
  const { authenticator, authorizer, logger } = options;
  return async (request) => {
    const { path, method, authorization = '', signal } = request;
    const [, token] = /^bearer +(\S+)$/i.exec(authorization.trim()) ?? [];
    if (token === undefined) return UNAUTHORIZED;
    try {
      const user = await authenticator.authenticate(token, signal);
      if (user === undefined) return UNAUTHORIZED;
      if (!(await authorizer.isAllowed(user, method.toLowerCase(), path, signal))) {
        logger.debug('A request for diagnostics was denied', { user: user.name, path, method });
        return { status: 403, body: `Authorization denied for user ${user.name}\n` };
      }
    } catch (error) {
      if (!signal.aborted) logger.error('Failed to authorize a request for diagnostics', error, { path, method });
      return NO_ANSWER;
    }
    return handler(request);
  };
}
