import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { ROOT, takeBlocks } from './blocks.ts';

interface Trust {
  readonly Statement: readonly [
    {
      readonly Action: string | readonly string[];
      readonly Principal: Readonly<Record<string, string>>;
      readonly Condition?: { readonly StringEquals: Readonly<Record<string, string>> };
    },
  ];
}

describe('docs/credentials.md', () => {
  const page = takeBlocks('docs/credentials.md', import.meta.url);
  const trust = (text: string) => (JSON.parse(page.next(text)) as Trust).Statement[0];

  it('has a trust policy for the ServiceAccount of the manager and no other', () => {
    const { Principal, Condition, Action } = trust('AssumeRoleWithWebIdentity');
    const [, issuer] = /^arn:aws:iam::\d{12}:oidc-provider\/(.+)$/.exec(Principal['Federated'] ?? '') ?? [];
    const deployment = parse(readFileSync(join(ROOT, 'config/manager/deployment.yaml'), 'utf8')) as {
      readonly spec: { readonly template: { readonly spec: { readonly serviceAccountName: string } } };
    };
    const account = deployment.spec.template.spec.serviceAccountName;
    expect(Action).to.equal('sts:AssumeRoleWithWebIdentity');
    expect(Condition?.StringEquals).to.deep.equal({
      [`${issuer}:sub`]: `system:serviceaccount:capaf-system:${account}`,
      [`${issuer}:aud`]: 'sts.amazonaws.com',
    });
  });

  it('has a trust policy for EKS Pod Identity', () => {
    const { Principal, Action } = trust('pods.eks.amazonaws.com');
    expect(Principal).to.deep.equal({ Service: 'pods.eks.amazonaws.com' });
    expect(Action).to.deep.equal(['sts:AssumeRole', 'sts:TagSession']);
  });
});
