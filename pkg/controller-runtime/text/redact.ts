import { MAX_MESSAGE, cut } from './cut.ts';

/** What takes the place of a credential. */
const MASK = '***';

/**
 * The forms in which a text from outside of this program can quote a credential. Each pattern matches in linear time,
 * because what it repeats is bounded or begins at one place only.
 */
const CREDENTIALS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // The errors of node:child_process quote the command with its arguments, then everything that it wrote to stderr.
  [/\bCommand failed: [\s\S]*/, 'Command failed'],
  // JSON.parse quotes the text around the mistake.
  [/Unexpected token [\s\S]{1,200}? is not valid JSON/g, 'not valid JSON'],
  // A URL with a user and a password.
  [/:\/\/[^\s/?#@"']{1,500}@/g, `://${MASK}@`],
  // The token of a session, in a quoted HTTP request or in JSON.
  [/(security-token["']?[:=] ?["']?)[^\s"',&]+/gi, `$1${MASK}`],
  // A JSON Web Token, for example of a service account.
  [/(?<![\w-])eyJ[\w-]{8,400}\.[\w.-]+/g, MASK],
  // An Authorization header. In "Bearer authentication", the second word has no such character.
  [/\b(Bearer|Basic|Negotiate) +(?=[A-Za-z]{0,80}[\d._~+/=-])[\w.~+/=-]{8,}/gi, `$1 ${MASK}`],
  // The token of a cloud provider for its API servers, which is a presigned URL.
  [/\bk8s-[a-z]{1,20}-v\d\.[\w-]+/g, MASK],
  // The signature of a request, in a header or in a presigned URL.
  [/\b(Credential|Signature)=[^\s,&"']+/gi, `$1=${MASK}`],
  // Parameters of a URL, a command line or an environment.
  [/(secret|token|password|access[_-]?key)([\w-]{0,40}=)[^\s,;&"']+/gi, `$1$2${MASK}`],
];

/**
 * Masks the credentials in a text that another program, a server or a library has written: such a text may quote a
 * command line, a header, a URL or a variable of the environment. A program logs and shows no such
 * text without this. Cuts the text to `max` UTF-16 code units afterwards, because half a URL no longer shows its password as such.
 */
export function redactCredentials(text: string, max = MAX_MESSAGE): string {
  let redacted = cut(text, MAX_MESSAGE);
  for (const [pattern, replacement] of CREDENTIALS) redacted = redacted.replace(pattern, replacement);
  return cut(redacted, max);
}

/**
 * The first line of a message of the YAML parser, without the part of the file that it quotes: a kubeconfig or a
 * Terraform state has credentials.
 */
export const yamlProblem = (message: string): string =>
  (message.split('\n', 1)[0] ?? '').replace(/(?<=\S):(?: .*)?$/, '').replace(/ at line \d+, column \d+$/, '');
