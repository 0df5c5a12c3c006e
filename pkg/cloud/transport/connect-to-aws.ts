import * as E from 'fp-ts/lib/Either.js';
import { environmentProxies } from 'controller-runtime/network';
import { awsCertificateAuthorities } from './ca-bundle.ts';
import { undiciTransport } from './undici-transport.ts';

/** Uses the environment's proxies and certificate authorities. A Left is a message for the user. */
export function connectToAws(
  environment: Readonly<Record<string, string | undefined>>,
): E.Either<string, ReturnType<typeof undiciTransport>> {
  const proxies = environmentProxies(environment);
  if (E.isLeft(proxies)) return proxies;
  const authorities = awsCertificateAuthorities(environment);
  if (E.isLeft(authorities)) return authorities;
  return E.right(undiciTransport({ proxyFor: proxies.right, ca: authorities.right }));
}
