import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licenses of packages whose code an Apache-2.0 work may contain if the work includes the license notice. */
const PERMISSIVE: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

export interface Notice {
  readonly name: string;
  readonly version: string;
  /** The license, as an SPDX expression. */
  readonly licence: string;
  /** The texts of the package's own license and notice files, or the substitute that `licenceTexts` returns. */
  readonly texts: readonly string[];
}

/**
 * Reports whether the licenses of an SPDX expression are permissive. For an OR, one side is enough; for an AND, both
 * sides must be permissive.
 */
export function isPermissive(expression: string): boolean {
  const bare = expression.trim().replace(/^\((.*)\)$/, '$1');
  return bare
    .split(/\s+OR\s+/)
    .some((choice) => choice.split(/\s+AND\s+/).every((licence) => PERMISSIVE.has(licence.replace(/^\(|\)$/g, ''))));
}

/**
 * Returns the directories of the packages to which the files in `inputs` belong, sorted. `inputs` are relative to
 * `root`.
 */
export function packageDirectories(root: string, inputs: readonly string[]): readonly string[] {
  const found = inputs.flatMap(
    (input) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input.replaceAll('\\', '/'))?.[0] ?? [],
  );
  return [...new Set(found)].map((directory) => join(root, directory)).toSorted();
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function readManifest(directory: string): Omit<Notice, 'texts'> {
  const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const fields = new Map<string, unknown>(Object.entries(manifest ?? {}));
  return { name: text(fields.get('name')), version: text(fields.get('version')), licence: text(fields.get('license')) };
}

/** Licenses that do not require a copy of the license text. */
const UNCONDITIONAL: ReadonlySet<string> = new Set(['0BSD', 'CC0-1.0', 'Unlicense']);

/**
 * Returns the texts of a package's license files. For a package without license files, returns the text of Apache-2.0
 * if that is its license, a note if its license does not require a notice, otherwise an empty list.
 */
function licenceTexts(root: string, directory: string, licence: string): readonly string[] {
  const own = readdirSync(directory)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .toSorted()
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  if (own.length > 0) return own;
  if (licence === 'Apache-2.0') return [readFileSync(join(root, 'LICENSE'), 'utf8').trim()];
  return UNCONDITIONAL.has(licence) ? ['This licence asks for no notice.'] : [];
}

/**
 * Collects the notices of all packages in a bundle. Throws one error that lists each package without a permissive
 * license or without a license text.
 */
export function collectNotices(root: string, inputs: readonly string[]): readonly Notice[] {
  const problems: string[] = [];
  const notices = packageDirectories(root, inputs).map((directory): Notice => {
    const { name, version, licence } = readManifest(directory);
    const texts = licenceTexts(root, directory, licence);
    if (!isPermissive(licence)) problems.push(`${name}@${version}: licence "${licence}" is not known to be permissive`);
    else if (texts.length === 0) problems.push(`${name}@${version}: ships no licence text`);
    return { name, version, licence, texts };
  });
  if (problems.length > 0) throw new Error(`The bundle may not be shipped:\n  ${problems.join('\n  ')}`);
  return notices;
}

const RULE = '-'.repeat(80);

/** Formats the notices as text, with one entry for all packages that have the same license texts. */
export function renderNotices(notices: readonly Notice[]): string {
  const byText = Map.groupBy(notices, ({ texts }) => texts.join('\n\n'));
  const entries = [...byText].map(([words, same]) => {
    const packages = same.map(({ name, version, licence }) => `${name} ${version} (${licence})`).join('\n');
    return `${RULE}\n${packages}\n\n${words}\n`;
  });
  return `This product contains the following packages, each under its own licence.\n\n${entries.join('\n')}`;
}
