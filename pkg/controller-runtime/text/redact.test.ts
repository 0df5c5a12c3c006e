import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { parseDocument } from 'yaml';
import { errorMessage, errorStack } from './error-text.ts';
import { redactCredentials, yamlProblem } from './redact.ts';

describe('redactCredentials', () => {
  const rows: readonly (readonly [text: string, redacted: string])[] = [
    ['Command failed: kubelogin --client-secret hush\nlogin as hush', 'Command failed'],
    ['Failed to refresh token: Error: Command failed: "az" hush', 'Failed to refresh token: Error: Command failed'],
    [`Unexpected token 'h', "{"a": hush}" is not valid JSON`, 'not valid JSON'],
    ['proxy https://ann:hush@proxy:3128/ refuses', 'proxy https://***@proxy:3128/ refuses'],
    ['authorization: Bearer hush-12345\r\nhost: a', 'authorization: Bearer ***\r\nhost: a'],
    ['{"authorization":"Basic aHVzaDpodXNo1"}', '{"authorization":"Basic ***"}'],
    ['x-security-token:hush\nhost:a', 'x-security-token:***\nhost:a'],
    ['{"x-security-token":"hush"}', '{"x-security-token":"***"}'],
    ['token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln is old', 'token *** is old'],
    [
      'HMAC-SHA256 Credential=key/20261128, SignedHeaders=host, Signature=abc',
      'HMAC-SHA256 Credential=***, SignedHeaders=host, Signature=***',
    ],
    [
      'GET /?X-Credential=key%2F1&X-Security-Token=hush%3D&X-Signature=ab&x=1',
      'GET /?X-Credential=***&X-Security-Token=***&X-Signature=***&x=1',
    ],
    ['--oidc-client-secret=hush --verbose', '--oidc-client-secret=*** --verbose'],
    ['SECRET_ACCESS_KEY=hush HOME=/', 'SECRET_ACCESS_KEY=*** HOME=/'],
    ['/callback?access_token=hush&state=1', '/callback?access_token=***&state=1'],
  ];
  for (const [text, redacted] of rows)
    it(`masks ${JSON.stringify(text)}`, () => expect(redactCredentials(text)).to.equal(redacted));

  it('masks a credential that a cut would halve', () => {
    expect(redactCredentials('see https://ann:hush-12345@proxy/ for more', 20)).to.equal('see https://***@pro…');
  });

  for (const text of [
    'Bearer authentication is required',
    'the Secret default/keys has no token: add one',
    'User "example" cannot list resource "secrets" in API group "" at the cluster scope',
    'The security token included in the request is expired',
    'connect ECONNREFUSED 127.0.0.1:6443',
    'reading https://login.example.com/ as ann@example.com',
  ])
    it(`leaves ${JSON.stringify(text)}`, () => expect(redactCredentials(text)).to.equal(text));
});

it('errorMessage and errorStack mask the command and the output of a child process that failed', () => {
  let error: unknown;
  try {
    execFileSync('sh', ['-c', 'echo hush >&2; exit 7', '--secret', 'hush'], { stdio: 'pipe' });
  } catch (cause) {
    error = new Error('asking for a token', { cause });
  }
  expect(errorMessage(error)).to.equal('asking for a token: Command failed');
  expect(errorStack(error)).to.contain('Caused by: Error: Command failed').and.not.to.contain('hush');
});

it('yamlProblem leaves out the text of the file', () => {
  const problemOf = (text: string): string => yamlProblem(parseDocument(text).errors[0]?.message ?? '');
  expect(problemOf('token: |hush')).to.equal('Block scalar header includes extra characters');
  expect(problemOf('token: "hush')).to.equal('Missing closing "quote');
  expect(problemOf('token: a: hush')).to.equal('Nested mappings are not allowed in compact mappings');
  expect(problemOf('- a\ntoken hush')).not.to.contain('hush');
});
