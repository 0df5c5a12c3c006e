import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { type TreeNode, renderTree } from './tree.ts';

const node = (name: string, children: readonly TreeNode[] = [], more: Partial<TreeNode> = {}): TreeNode => {
  return { kind: 'Role', name, state: 'ok', result: 'ok', children, ...more };
};
const TREE = node('root', [node('a', [node('a1', [node('a11')]), node('a2')]), node('b', [node('b1')])]);

const render = (tree: TreeNode, isTerminal: boolean): readonly string[] =>
  renderTree(tree, isTerminal).map((line) => stripVTControlCharacters(line));

describe('the tree of a command', () => {
  it('has lines on a terminal', () => {
    expect(render(TREE, true)).to.deep.equal([
      'Role root: ok',
      '├─ Role a: ok',
      '│  ├─ Role a1: ok',
      '│  │  └─ Role a11: ok',
      '│  └─ Role a2: ok',
      '└─ Role b: ok',
      '   └─ Role b1: ok',
    ]);
  });

  it('is indented in a pipe', () => {
    expect(render(TREE, false)).to.deep.equal([
      'Role root: ok',
      '  Role a: ok',
      '    Role a1: ok',
      '      Role a11: ok',
      '    Role a2: ok',
      '  Role b: ok',
      '    Role b1: ok',
    ]);
  });

  it('shows facts and message of a node in one line, whatever they contain', () => {
    const facts = { freeAddresses: 4, owner: 'a\nb' };
    const [line, ...others] = render(node('\u001b[31mx', [], { facts, message: 'so\nthat' }), false);
    expect(line).to.equal('Role \\u001b[31mx: ok, free addresses: 4, owner: a b, so that');
    expect(others).to.deep.equal([]);
  });
});
