import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedFiles } from './generated.ts';

for (const [path, content] of generatedFiles()) {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  console.log(path);
}
