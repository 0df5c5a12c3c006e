import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

/** What differs from run to run, and says nothing about the product. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/g, '<time>'],
  [/AROA[A-Z0-9]+/g, '<role id>'],
  [/subnet-[0-9a-f]{17}/g, '<subnet>'],
  [/(Resource Version: +)\d+/g, '$1<version>'],
  // A test's own annotation, by which it has an object looked at.
  [/(look: +)\d+/g, '$1<time>'],
];

/**
 * What `kubectl describe` printed, without what differs from run to run. The table of events loses its ages, and keeps how
 * often each of them came.
 */
export function steady(described: string): string {
  const text = CHANGING.reduce((all, [pattern, word]) => all.replaceAll(pattern, word), described);
  const [object = '', events = ''] = text.split(/^Events: */m);
  const told = events
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/))
    .filter(([type]) => type === 'Normal' || type === 'Warning')
    .map(([type, reason, age = '', ...rest]) => {
      const times = /\(x\d+/.exec(age);
      return ['', type, reason, ...(times === null ? [] : [`${times[0]})`]), ...rest].join('  ');
    });
  return `${object.trimEnd()}\nEvents:${told.length === 0 ? '  <none>' : `\n${told.join('\n')}`}\n`;
}

/**
 * Compares with the golden text in a file. With UPDATE_GOLDEN=1 it is written anew instead: read it before you commit it,
 * as somebody who is woken by it would.
 */
export function expectGolden(file: URL, text: string): void {
  const path = fileURLToPath(file);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  expect(existsSync(path), `${path} is there; UPDATE_GOLDEN=1 writes it`).to.equal(true);
  expect(text).to.equal(readFileSync(path, 'utf8'));
}
