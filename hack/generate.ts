// Writes the generated files of the repository. With --check it writes nothing, and fails if a file is out of date.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedFiles } from './generated.ts';

const check = process.argv.includes('--check');

for (const [path, content] of generatedFiles()) {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  if (check) {
    const present = await readFile(file, 'utf8').catch(() => undefined);
    if (present === content) continue;
    console.error(`${path} is out of date: run "make generate" and commit the result`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    console.log(path);
  }
}
