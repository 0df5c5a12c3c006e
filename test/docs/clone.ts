import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { ROOT } from './blocks.ts';
import { type Terminal, type TerminalOptions, openTerminal } from './terminal.ts';

/**
 * Folders that the clone contains as copies, because kustomize resolves symbolic links and refuses files outside of its
 * directory. The other folders of the clone are symbolic links.
 */
const COPIED = ['config'];
const ABSENT = ['out', '.git'];

/**
 * Opens a terminal in a temporary directory that looks like a clone of this repository, so that the commands of a
 * documentation page leave no trace in the repository itself. `close` also removes this directory.
 */
export async function openTerminalInClone(
  controlPlane: ControlPlane,
  options: Omit<TerminalOptions, 'directory'> = {},
): Promise<Terminal> {
  const directory = makeClone();
  const terminal = await openTerminal(controlPlane, { ...options, directory });
  return {
    ...terminal,
    close: () => {
      terminal.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function makeClone(): string {
  const directory = mkdtempSync(join(tmpdir(), 'capaf-clone-'));
  for (const name of readdirSync(ROOT))
    if (COPIED.includes(name)) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    else if (!ABSENT.includes(name)) symlinkSync(join(ROOT, name), join(directory, name));
  return directory;
}
