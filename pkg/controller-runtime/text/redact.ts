import { MAX_MESSAGE, cut } from './cut.ts';

const MASK = '***';

/**
 * The forms in which a text from outside of this program can quote a credential. Each pattern matches in linear time,
 * because its repetitions are bounded or can begin at only one position.
 */
const CREDENTIALS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Errors of node:child_process quote the command with its arguments, then everything that the command wrote to
  // stderr.
  [/\bCommand failed: [\s\S]*/, 'Command failed'],
  // JSON.parse quotes the text around the mistake.
  [/Unexpected token [\s\S]{1,200}? is not valid JSON/g, 'not valid JSON'],
  // A URL with a user and a password.
  [/:\/\/[^\s/?#@"']{1,500}@/g, `://${MASK}@`],
  // A session token, in a quoted HTTP request or in JSON.
  [/(security-token["']?[:=] ?["']?)[^\s"',&]+/gi, `$1${MASK}`],
  // A JSON Web Token, for example of a service account.
  [/(?<![\w-])eyJ[\w-]{8,400}\.[\w.-]+/g, MASK],
  // An Authorization header. Its second word has a digit or a sign, unlike that of the phrase "Bearer authentication".
  [/\b(Bearer|Basic|Negotiate) +(?=[A-Za-z]{0,80}[\d._~+/=-])[\w.~+/=-]{8,}/gi, `$1 ${MASK}`],
  // A cloud provider's token for its API servers, which is a presigned URL.
  [/\bk8s-[a-z]{1,20}-v\d\.[\w-]+/g, MASK],
  // The signature of a request, in a header or in a presigned URL.
  [/\b(Credential|Signature)=[^\s,&"']+/gi, `$1=${MASK}`],
  // Parameters of a URL or a command line, or environment variables.
  [/(secret|token|password|access[_-]?key)([\w-]{0,40}=)[^\s,;&"']+/gi, `$1$2${MASK}`],
];

/**
 * Masks the credentials in a text from another program, a server, or a library. Such a text may quote a command line, a
 * header, a URL, or an environment variable, so it must not be logged or shown without masking. Cuts the text to `max`
 * UTF-16 code units only afterwards, because a password in a URL that was cut would not be recognized.
 */
export function redactCredentials(text: string, max = MAX_MESSAGE): string {
  let redacted = cut(text, MAX_MESSAGE);
  for (const [pattern, replacement] of CREDENTIALS) redacted = redacted.replace(pattern, replacement);
  return cut(redacted, max);
}

/**
 * Returns the first line of the YAML parser's message, without the part of the file that it quotes: a kubeconfig or a
 * Terraform state may contain credentials.
 */
export const yamlProblem = (message: string): string =>
  (message.split('\n', 1)[0] ?? '').replace(/(?<=\S):(?: .*)?$/, '').replace(/ at line \d+, column \d+$/, '');
