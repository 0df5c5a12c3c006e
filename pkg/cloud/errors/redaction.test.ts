import { expect } from 'chai';
import { redactCredentials } from 'controller-runtime/text';

describe('redactCredentials', () => {
  const rows: readonly (readonly [text: string, redacted: string])[] = [
    ['x-amz-security-token:hush\nhost:a', 'x-amz-security-token:***\nhost:a'],
    ['{"x-amz-security-token":"hush"}', '{"x-amz-security-token":"***"}'],
    [
      'AWS4-HMAC-SHA256 Credential=AKIA/20261128/us-east-1, SignedHeaders=host, Signature=abc',
      'AWS4-HMAC-SHA256 Credential=***, SignedHeaders=host, Signature=***',
    ],
    [
      'GET /?X-Amz-Credential=AKIA%2F1&X-Amz-Security-Token=hush%3D&X-Amz-Signature=ab&x=1',
      'GET /?X-Amz-Credential=***&X-Amz-Security-Token=***&X-Amz-Signature=***&x=1',
    ],
    ['{"token":"k8s-aws-v1.aHR0cHM6Ly9zdHM"}', '{"token":"***"}'],
    ['AWS_SECRET_ACCESS_KEY=hush HOME=/', 'AWS_SECRET_ACCESS_KEY=*** HOME=/'],
  ];
  for (const [text, redacted] of rows)
    it(`masks ${JSON.stringify(text)} of AWS`, () => expect(redactCredentials(text)).to.equal(redacted));
});
