import { expect } from 'chai';
import { toAwsFailure } from './sdk-failure.ts';

const TOKEN = 'IQoJb3JpZ2luX2VjEXAMPLETOKEN';

describe('The message of a failure', () => {
  const wordsOf = (message: string): string =>
    toAwsFailure(
      { service: 'iam', operation: 'GetRole', progress: 'sent' },
      {
        name: 'SignatureDoesNotMatch',
        message,
        $fault: 'client',
        $metadata: { httpStatusCode: 403, requestId: 'r' },
      },
    ).message;

  it('omits the canonical request, which contains the session token', () => {
    const words =
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key ' +
      'and signing method. Consult the service documentation for details.';
    const canonical =
      '\n\nThe Canonical String for this request should have been\n' +
      `'POST\n/\n\nhost:iam.amazonaws.com\nx-amz-security-token:${TOKEN}\n\nThe String-to-Sign should have been\n'AWS4'`;
    expect(wordsOf(words + canonical)).to.equal(words);
  });

  it('omits the Authorization header, which contains the access key ID', () => {
    expect(
      wordsOf(
        `'x' not a valid key=value pair (missing equal-sign) in Authorization header: 'AWS4-HMAC-SHA256 Credential=AKIAX y/2025'.`,
      ),
    ).to.equal(`'x' not a valid key=value pair (missing equal-sign) in Authorization header`);
  });

  it('is otherwise that of AWS', () => {
    expect(wordsOf('The security token included in the request is invalid.')).to.equal(
      'The security token included in the request is invalid.',
    );
  });
});
