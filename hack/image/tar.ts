import { posix } from 'node:path';

/** A file, directory or symbolic link in an archive. `path` is relative, without a slash at the end. */
export type Entry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Buffer }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string };

const BLOCK = 512;
const TYPE = { file: '0', symlink: '2', directory: '5' } as const;
const DIRECTORY_MODE = 0o755;

/**
 * Returns a tar archive (POSIX ustar) of the entries, and of the directories above them. All entries belong to root and
 * have the time 0. The archive is sorted by path, so that the same entries always give the same bytes.
 */
export function tar(entries: readonly Entry[]): Buffer {
  const all = new Map<string, Entry>();
  for (const entry of entries)
    for (const path of directoriesAbove(entry.path)) all.set(path, { kind: 'directory', path });
  for (const entry of entries) all.set(entry.path, entry);
  const sorted = [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return Buffer.concat([...sorted.flatMap(blocksOf), Buffer.alloc(2 * BLOCK)]);
}

function directoriesAbove(path: string): readonly string[] {
  const parent = posix.dirname(path);
  return parent === '.' ? [] : [...directoriesAbove(parent), parent];
}

function blocksOf(entry: Entry): readonly Buffer[] {
  if (entry.kind !== 'file') return [header(entry, 0)];
  const { content } = entry;
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return [header(entry, content.length), content, padding];
}

/** The header block of an entry: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06 */
function header(entry: Entry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const text = (value: string, offset: number, length: number): void => {
    if (Buffer.byteLength(value) > length) throw new Error(`"${value}" of ${entry.path} is too long for a tar archive`);
    block.write(value, offset);
  };
  const octal = (value: number, offset: number, length: number): void =>
    text(value.toString(8).padStart(length - 1, '0'), offset, length - 1);
  text(entry.kind === 'directory' ? `${entry.path}/` : entry.path, 0, 100);
  octal(entry.kind === 'file' ? entry.mode : entry.kind === 'directory' ? DIRECTORY_MODE : 0o777, 100, 8);
  octal(0, 108, 8); // uid
  octal(0, 116, 8); // gid
  octal(size, 124, 12);
  octal(0, 136, 12); // mtime
  text(' '.repeat(8), 148, 8); // the checksum counts as blanks
  text(TYPE[entry.kind], 156, 1);
  if (entry.kind === 'symlink') text(entry.target, 157, 100);
  text('ustar', 257, 6); // ends with a zero byte
  text('00', 263, 2);
  const sum = block.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8);
  return block;
}
