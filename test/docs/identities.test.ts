import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { parseAllDocuments } from 'yaml';
import { type AllowedNamespaces, decodeIdentity } from '../../api/external/identity.ts';
import { checkAllowedNamespaces } from '../../controllers/identities/allowed-namespaces.ts';
import { readPage, takeBlocks } from './blocks.ts';

const page = readPage('docs/identities.md');

interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

describe('docs/identities.md', () => {
  const documents = parseAllDocuments(takeBlocks('docs/identities.md', import.meta.url).next('kind:')).map(
    (document) => document.toJS() as Document,
  );

  it('contains identities that the decoders accept', () => {
    const identities = documents.filter(({ kind }) => kind !== 'Secret');
    expect(identities.map(({ kind }) => kind)).to.deep.equal(['AWSClusterStaticIdentity', 'AWSClusterRoleIdentity']);
    for (const { metadata, ...rest } of identities) {
      const stored = { ...rest, metadata: { ...metadata, uid: 'u', resourceVersion: '1' } };
      expect(isRight(decodeIdentity(stored)), metadata.name).to.equal(true);
    }
  });

  it('describes allowedNamespaces as checkAllowedNamespaces evaluates it', () => {
    const rows: readonly (readonly [words: string, allowed: AllowedNamespaces | null | undefined, allows: string])[] = [
      ['absent or `null`', undefined, 'none'],
      ['absent or `null`', null, 'none'],
      ['`{}`, `{list: null}`, `{selector: {}}`', {}, 'all'],
      ['`{}`, `{list: null}`, `{selector: {}}`', { list: null }, 'all'],
      ['`{}`, `{list: null}`, `{selector: {}}`', { selector: {} }, 'all'],
      ['`{list: []}`', { list: [] }, 'none'],
    ];
    for (const [words, allowed, allows] of rows) {
      expect(page).to.include(`| ${words} | ${allows} |`);
      expect(checkAllowedNamespaces(allowed, 'any').kind).to.equal(allows === 'all' ? 'granted' : 'denied');
    }
  });
});
