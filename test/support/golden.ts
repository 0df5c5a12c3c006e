import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

/** Patterns of values that differ between test runs, each with the placeholder that replaces these values. */
const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/g, '<time>'],
  [/AROA[A-Z0-9]+/g, '<role id>'],
  [/subnet-[0-9a-f]{17}/g, '<subnet>'],
  [/(Resource Version: +)\d+/g, '$1<version>'],
  // The value of the annotation that `triggerReconcile` changes: `tests.example.com/look`, or `look` in a simulation.
  [/(look: +)\d+/g, '$1<time>'],
];

/**
 * Replaces the values in the output of `kubectl describe` that differ between test runs. Also removes the header and
 * the ages of the Events, and keeps their counts.
 */
export function normalizeDescription(described: string): string {
  const text = PLACEHOLDERS.reduce((all, [pattern, placeholder]) => all.replaceAll(pattern, placeholder), described);
  const [object = '', events = ''] = text.split(/^Events: */m);
  const eventLines = events
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/))
    .filter(([type]) => type === 'Normal' || type === 'Warning')
    .map(([type, reason, age = '', ...rest]) => {
      const count = /\(x\d+/.exec(age);
      return ['', type, reason, ...(count === null ? [] : [`${count[0]})`]), ...rest].join('  ');
    });
  return `${object.trimEnd()}\nEvents:${eventLines.length === 0 ? '  <none>' : `\n${eventLines.join('\n')}`}\n`;
}

/**
 * Compares a text with a golden file. With UPDATE_GOLDEN=1, first writes the text to the golden file. A developer then
 * reviews the new content from the view of an operator who is woken at night.
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
