import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const CHECKSUMS = 'checksums.txt';

/** Returns the SHA-256 sums of all files of a directory, in the format of sha256sum. */
export function checksumsOf(directory: string): string {
  const names = readdirSync(directory).filter((name) => name !== CHECKSUMS);
  return names
    .toSorted()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('');
}
