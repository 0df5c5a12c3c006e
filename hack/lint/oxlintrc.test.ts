import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Source files that oxlint must refuse: one for each of its overrides and for each kind of code that our own rules read.
 * `code` is a rule that must report the file.
 */
const refused: readonly { readonly file: string; readonly source: string; readonly code: string }[] = [
  { file: 'pkg/fargate/date.ts', source: 'export const t = Date.now();', code: 'no-restricted-globals' },
  { file: 'api/date.ts', source: 'export const t = new Date(0);', code: 'no-restricted-globals' },
  { file: 'controllers/a/date.ts', source: 'export const t = new Date(0);', code: 'no-restricted-globals' },
  { file: 'pkg/fargate/interval.ts', source: 'globalThis.setInterval(() => {}, 1);', code: 'no-restricted-globals' },
  { file: 'pkg/fargate/random.ts', source: 'export const r = Math.random();', code: 'no-restricted-properties' },
  {
    file: 'pkg/fargate/import-uuid.ts',
    source: `import { randomUUID } from 'node:crypto';\nexport const id = randomUUID();`,
    code: 'no-restricted-imports',
  },
  {
    file: 'pkg/fargate/import-bare.ts',
    source: `import { randomUUID } from 'crypto';\nexport const id = randomUUID();`,
    code: 'prefer-node-protocol',
  },
  {
    file: 'pkg/fargate/import-timers.ts',
    source: `import { setTimeout as delay } from 'node:timers/promises';\nexport const d = delay(1);`,
    code: 'no-restricted-imports',
  },
  { file: 'pkg/fargate/up.ts', source: `export { c } from '../../controllers/a/c.ts';`, code: 'arrows' },
  {
    file: 'pkg/fargate/up-import.ts',
    source: `import { c } from '../../controllers/a/c.ts';\nexport const d = c;`,
    code: 'arrows',
  },
  { file: 'pkg/fargate/up-all.ts', source: `export * from '../../controllers/a/c.ts';`, code: 'arrows' },
  {
    file: 'pkg/fargate/up-later.ts',
    source: `export const c = await import('../../controllers/a/c.ts');`,
    code: 'arrows',
  },
  {
    file: 'pkg/fargate/up-type.ts',
    source: `export type C = typeof import('../../controllers/a/c.ts');`,
    code: 'arrows',
  },
  {
    file: 'pkg/fargate/backtracking.ts',
    source: 'export const isList = (text: string): boolean => /^(?:a*,?)*b/.test(text);',
    code: 'no-super-linear-backtracking',
  },
  {
    file: 'pkg/controller-runtime/env/move.ts',
    source: `export const toLine = (text: string): string => text.replace(/\\s*\\n\\s*/g, ' ');`,
    code: 'no-super-linear-move',
  },
  {
    file: 'cmd/capaf/built.ts',
    source: 'export const has = (text: string, glob: string): boolean => new RegExp(glob).test(text);',
    code: 'regexp-literals',
  },
  {
    file: 'api/called.ts',
    source: 'export const has = (glob: string): RegExp => RegExp(glob);',
    code: 'regexp-literals',
  },
  {
    file: 'pkg/fargate/cast.ts',
    source: `export const a = (x: unknown): string => x as string;`,
    code: 'no-unsafe-type-assertion',
  },
  {
    file: 'controllers/awsfargateprofile/read.ts',
    source: 'export const of = (object: { readonly status: string }): string => object.status;',
    code: 'status-is-report',
  },
  {
    file: 'controllers/awsfargateprofile/taken.ts',
    source: `interface KubeObject { readonly status: string }\nexport const of = ({ status }: KubeObject): string => status;`,
    code: 'status-is-report',
  },
  {
    file: 'controllers/awsfargateprofile/taken-typed.ts',
    source: `interface AWSFargateProfile { readonly status: string }\nexport const of = ({ status }: AWSFargateProfile): string => status;`,
    code: 'status-is-report',
  },
  {
    file: 'controllers/awsfargateprofile/destructured.ts',
    source: `export function of(object: { readonly status: string }): string { const { status } = object; return status; }`,
    code: 'status-is-report',
  },
  {
    file: 'cmd/manager/lookup.ts',
    source: `const UNITS: Readonly<Record<string, number>> = { ms: 1 };\nexport const of = (unit: string) => UNITS[unit];`,
    code: 'lookups',
  },
  {
    file: 'pkg/fargate/lookup.ts',
    source: 'export const of = (unit: string): number | undefined => ({ ms: 1 })[unit];',
    code: 'lookups',
  },
  {
    file: 'pkg/fargate/text.ts',
    source: 'export const of = (value: unknown): string => String(value);',
    code: 'no-base-to-string',
  },
  {
    file: 'pkg/fargate/floating.ts',
    source: 'export function a(p: () => Promise<void>): void { p(); }',
    code: 'no-floating-promises',
  },
];

const accepted: readonly { readonly file: string; readonly source: string }[] = [
  { file: 'pkg/controller-runtime/env/system.ts', source: 'export const now = (): number => Date.now();' },
  { file: 'pkg/fargate/glob.test.ts', source: 'export const of = (glob: string): RegExp => new RegExp(glob);' },
  { file: 'cmd/manager/main.ts', source: 'export const now = (): number => Date.now();' },
  {
    file: 'pkg/fargate/hash.ts',
    source: `import { createHash } from 'node:crypto';\nexport const h = createHash('sha256');`,
  },
  { file: 'controllers/a/c.ts', source: `import type { C } from '../../pkg/fargate/c.ts';\nexport const c: C = 1;` },
  {
    file: 'controllers/a/lookup.ts',
    source: `type Unit = 'ms' | 's';\nconst UNITS: Readonly<Record<Unit, number>> = { ms: 1, s: 1_000 };\nexport const of = (unit: Unit): number => UNITS[unit];`,
  },
  { file: 'pkg/fargate/c.ts', source: 'export type C = number;' },
];

interface Finding {
  readonly code: string;
  readonly filename: string;
}

function lint(directory: string): Promise<readonly Finding[]> {
  return new Promise((resolve, reject) => {
    const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
    execFile(process.execPath, [oxlint, '--format', 'json'], { cwd: directory }, (_failed, stdout, stderr) => {
      try {
        resolve((JSON.parse(stdout) as { readonly diagnostics: readonly Finding[] }).diagnostics);
      } catch (cause) {
        reject(new Error(`oxlint did not answer in JSON: ${stdout}${stderr}`, { cause }));
      }
    });
  });
}

describe('the lint configuration', () => {
  let directory = '';
  let findings: readonly Finding[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lint-'));
    for (const shared of ['node_modules', 'hack']) await symlink(join(root, shared), join(directory, shared));
    for (const own of ['.oxlintrc.json', 'tsconfig.json', 'package.json']) {
      await copyFile(join(root, own), join(directory, own));
    }
    for (const { file, source } of [...refused, ...accepted]) {
      await mkdir(dirname(join(directory, file)), { recursive: true });
      await writeFile(join(directory, file), `${source}\n`);
    }
    findings = await lint(directory);
  });
  after(async () => {
    await rm(directory, { recursive: true });
  });

  const codesOf = (file: string): readonly string[] =>
    findings.filter(({ filename }) => filename === file).map(({ code }) => /\((.+)\)/.exec(code)?.[1] ?? code);

  for (const { file, source, code } of refused) {
    it(`refuses ${file} by ${code}: ${source.replaceAll('\n', ' ')}`, () => {
      expect(codesOf(file)).to.contain(code);
    });
  }
  for (const { file, source } of accepted) {
    it(`accepts ${file}: ${source.replaceAll('\n', ' ')}`, () => {
      expect(codesOf(file)).to.deep.equal([]);
    });
  }
});
