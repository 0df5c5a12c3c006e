import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { podIdentityUri } from './pod-identity.ts';

const COMPONENT = new URL('../../../config/components/pod-identity/kustomization.yaml', import.meta.url);

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

/** Returns the environment of a pod that the kustomize component has changed. */
function environmentOf(podIp: string): Readonly<Record<string, string>> {
  const { patches } = parse(readFileSync(COMPONENT, 'utf8')) as { patches: [{ patch: string }] };
  const { spec } = parse(patches[0].patch) as { spec: { template: { spec: { containers: [Container] } } } };
  return Object.fromEntries(spec.template.spec.containers[0].env.map(({ name, value }) => [name, value ?? podIp]));
}

describe('The component for EKS Pod Identity', () => {
  it('asks the agent at the address for the pods of an IPv4 or an IPv6 cluster', () => {
    expect(podIdentityUri(environmentOf('10.0.1.7'))).to.equal('http://169.254.170.23/v1/credentials');
    expect(podIdentityUri(environmentOf('2600:1f14::7'))).to.equal('http://[fd00:ec2::23]/v1/credentials');
  });

  it('asks the agent at the address that EKS or a user has set', () => {
    const settings = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://localhost:1/credentials' };
    expect(podIdentityUri({ ...environmentOf('10.0.1.7'), ...settings })).to.equal(undefined);
  });

  it('returns no address for a pod that does not use Pod Identity', () => {
    expect(podIdentityUri({ POD_IP: '10.0.1.7' })).to.equal(undefined);
    expect(podIdentityUri({})).to.equal(undefined);
  });
});
