import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import * as E from 'fp-ts/lib/Either.js';
import { codeOf } from 'controller-runtime/text';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns the certificate authorities in the file AWS_CA_BUNDLE, or Right(undefined) if the variable is not set. As in
 * the AWS CLI, they replace the default authorities, whereas NODE_EXTRA_CA_CERTS adds authorities for every server. A
 * Left says why the file cannot be used.
 */
export function awsCertificateAuthorities(
  environment: Readonly<Record<string, string | undefined>>,
): E.Either<string, readonly string[] | undefined> {
  const file = environment['AWS_CA_BUNDLE'] ?? '';
  if (file === '') return E.right(undefined);
  const problem = (what: string): E.Either<string, never> =>
    E.left(
      `the file ${file} of the environment variable AWS_CA_BUNDLE ${what}. Name a file of certificates in PEM, or unset the variable`,
    );
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    return problem(`cannot be read: ${codeOf(cause)}`);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) return problem('has no certificate in PEM');
  const wrong = certificates.findIndex((pem) => !isCertificate(pem));
  if (wrong !== -1) return problem(`has an invalid certificate, number ${wrong + 1}`);
  return E.right([...certificates, ...getCACertificates('extra')]);
}

const isCertificate = (pem: string): boolean => E.isRight(E.tryCatch(() => new X509Certificate(pem), String));
