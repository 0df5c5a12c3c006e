import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Policy {
  readonly Statement: readonly { readonly Action: string | readonly string[] }[];
}

/** What AWS asks for by itself while it carries a call of ours out. */
const ASKED_FOR_BY_EKS = ['iam:PassRole', 'iam:CreateServiceLinkedRole'];

function documented(): readonly string[] {
  const page = readFileSync(join(root, 'docs/aws-permissions.md'), 'utf8');
  const policy = JSON.parse(/```json\n([^]+?)```/.exec(page)?.[1] ?? '') as Policy;
  return policy.Statement.flatMap(({ Action }) => Action);
}

/** `<service>:<Operation>` of every SDK command that the folder of a service constructs. */
function called(service: 'eks' | 'iam'): readonly string[] {
  const sources = globSync(`pkg/cloud/${service}/*.ts`, { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const commands = sources.flatMap((source) =>
    [...source.matchAll(/new (\w+)Command\(/g)].map(([, name]) => `${service}:${name}`),
  );
  return [...new Set(commands)];
}

describe('docs/aws-permissions.md', () => {
  it('lists every call that the manager makes, and nothing else', () => {
    const calls = [...called('eks'), ...called('iam')];
    expect(calls).to.include.members(['eks:CreateFargateProfile', 'iam:CreateRole']);
    expect(documented()).to.have.members([...calls, ...ASKED_FOR_BY_EKS]);
  });
});
