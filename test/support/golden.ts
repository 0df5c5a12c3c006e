import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

/**
 * Compares a text with a golden file. With UPDATE_GOLDEN=1, first writes the text to the golden file. A developer then
 * reviews the new content from the perspective of an operator who is on call at night.
 */
export function expectGolden(file: URL, text: string): void {
  const path = fileURLToPath(file);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  expect(existsSync(path), `${path} exists; UPDATE_GOLDEN=1 writes it`).to.equal(true);
  expect(text).to.equal(readFileSync(path, 'utf8'));
}
