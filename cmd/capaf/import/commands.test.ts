import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { left } from 'fp-ts/lib/Either.js';
import { toPrintableLine } from 'controller-runtime/text';
import { EksClusterName } from '../../../api/names.ts';
import { type SourceDocument, parseDocuments } from '../documents.ts';
import { Failure } from '../io.ts';
import { hostileText, recordCommands } from '../testing/recording-shell.ts';
import { replaced, textsIn } from '../testing/replaced-values.ts';
import { SOURCES } from './sources.ts';
import { takeOver } from './take-over.ts';

const FILES = {
  ack: 'ack.yaml',
  cloudformation: 'cloudformation.yaml',
  crossplane: 'crossplane.yaml',
  eksctl: 'eksctl.yaml',
  keiko: 'keiko.yaml',
  live: 'live.json',
  terraform: 'terraform-state.json',
} as const;

/** Returns the commands in the printed steps, which a user would run; `undefined`: the file is refused. */
function commandsOf(from: keyof typeof FILES, document: SourceDocument): readonly (readonly string[])[] | undefined {
  const target = { namespace: 'team-a', clusterName: undefined, eksCluster: EksClusterName.of('prod') };
  try {
    const sources = SOURCES[from].read(document);
    // The sources with the fields that runImport adds.
    const completed = sources.map((source) => ({ ...source, cluster: source.cluster ?? target.eksCluster }));
    const steps = completed.flatMap(
      (source) => takeOver(source, left(''), { ...target, region: undefined }, 'web').steps,
    );
    const lines = steps.map(toPrintableLine).flatMap((step) => {
      const [, command] = /: ((?:kubectl|terraform|capaf) .*)$/.exec(step) ?? [];
      const [, flag] = /^Give the manager the flag (.*)$/.exec(step) ?? [];
      return command ?? (flag === undefined ? [] : `capaf ${flag}`);
    });
    return recordCommands(lines.join('\n'));
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const VERBS = /^(?:kubectl|terraform|capaf|annotate|patch|delete|scale|state|rm|import)$/;

/** Returns the verbs and the option names, which decide what a command does. */
function shapeOf(words: readonly string[]): readonly string[] {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return words.map((word, index) => {
    if (VERBS.test(word)) return word;
    return index <= end && word.startsWith('-') ? (word.split('=')[0] ?? '') : 'a value';
  });
}

describe('the commands of the steps', () => {
  for (const from of Object.keys(FILES) as (keyof typeof FILES)[])
    it(`do the same for a hostile text anywhere in a file of ${from}`, () => {
      const text = readFileSync(new URL(`testdata/${FILES[from]}`, import.meta.url), 'utf8');
      const documents = [...parseDocuments('file', text)];
      const places = documents.flatMap((document) => {
        const shapes = commandsOf(from, document)?.map(shapeOf);
        return textsIn(document.value).map((path) => ({ document, path, shapes }));
      });
      fc.assert(
        fc.property(fc.constantFrom(...places), hostileText, ({ document, path, shapes }, hostile) => {
          const value = replaced(document.value, path, hostile);
          for (const words of commandsOf(from, { ...document, value }) ?? [])
            expect(shapes).to.deep.include(shapeOf(words));
        }),
      );
    });
});
