import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './blocks.ts';

/**
 * Folders that are copied and not linked, because kustomize resolves links and refuses files outside of its directory.
 */
const COPIED = ['config'];
const ABSENT = ['out', '.git'];

/**
 * Creates a temporary directory with links to the files of this repository. Commands of a page run in the directory as
 * in a clone, so that they leave no trace in the repository itself.
 */
export function makeClone(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'capaf-clone-'));
  for (const name of readdirSync(ROOT))
    if (COPIED.includes(name)) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    else if (!ABSENT.includes(name)) symlinkSync(join(ROOT, name), join(directory, name));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
