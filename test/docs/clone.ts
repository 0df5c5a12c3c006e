import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './blocks.ts';

/** Copied, because kustomize resolves links and refuses files outside of the directory. */
const COPIED = ['config'];
const ABSENT = ['out', '.git'];

/**
 * A directory in which commands of a page run as in a clone of this repository, without a trace in the repository
 * itself: it has links to the files of the repository.
 */
export function makeClone(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'capaf-clone-'));
  for (const name of readdirSync(ROOT))
    if (COPIED.includes(name)) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    else if (!ABSENT.includes(name)) symlinkSync(join(ROOT, name), join(directory, name));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
