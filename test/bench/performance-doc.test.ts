import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { PARTS } from './options.ts';
import { withSection } from './performance-doc.ts';

const section = (part: string, text: string): string =>
  `<!-- make bench writes ${part} from here -->\n\n${text}\n\n<!-- to here -->\n`;

describe('the figures in docs/performance.md', () => {
  it('are replaced for one part, and kept for the others', () => {
    const before = `# Title\n\n${section('burst', 'old')}\n${section('rest', 'kept')}end\n`;
    const after = `# Title\n\n${section('burst', 'new')}\n${section('rest', 'kept')}end\n`;
    expect(withSection(before, 'burst', 'new')).to.equal(after);
  });

  it('are not written into a document without the marks of the part', () => {
    expect(() => withSection(section('burst', ''), 'rest', 'new')).to.throw('marks around the figures of rest');
    expect(() => withSection('<!-- to here --><!-- make bench writes rest from here -->', 'rest', '')).to.throw(
      'marks',
    );
  });

  it('have marks for every part', () => {
    const document = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');
    for (const part of PARTS) expect(withSection(document, part, 'new')).to.contain('\n\nnew\n\n');
  });
});
