import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import manifest from '../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../pkg/controller-runtime/', import.meta.url));
const ours = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.(?:ts|json|md)$/.test(path));

describe('pkg/controller-runtime', () => {
  it('has no word of this product and its cloud', () => {
    const words = /aws|amazon|\beks\b|fargate|capaf|keiko/i;
    expect(files.filter((path) => words.test(readFileSync(join(root, path), 'utf8')))).to.deep.equal([]);
  });

  it('exports each folder that has an index', () => {
    const indexes = files.filter((path) => path.endsWith('/index.ts')).map((path) => `./${path}`);
    const exported = Object.values(ours.exports);
    expect(exported.filter((path) => !existsSync(join(root, path)))).to.deep.equal([]);
    expect(exported).to.include.members(indexes);
  });

  it('hides its other files', () => {
    const load = `import('controller-runtime/client/errors.ts').then(() => 'loaded', ({ code }) => code).then(console.log)`;
    const output = execFileSync(process.execPath, ['--eval', load], { cwd: join(root, '../..'), encoding: 'utf8' });
    expect(output.trim()).to.equal('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('has the versions of packages that the product has', () => {
    const versions: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies };
    const differing = Object.entries({ ...ours.dependencies, ...ours.devDependencies }).filter(
      ([name, version]) => (versions[name] ?? version) !== version,
    );
    expect(differing).to.deep.equal([]);
  });
});
