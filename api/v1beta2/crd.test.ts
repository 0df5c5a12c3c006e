import { expect } from 'chai';
import { crd } from './crd.ts';

/** The words that CEL reserves: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax */
const RESERVED =
  /\.(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)\b/;

/** Returns all values of the fields with one of the given names, at any depth. */
function valuesOf(value: unknown, names: readonly string[]): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => [
    ...(names.includes(name) && typeof each === 'string' ? [each] : []),
    ...valuesOf(each, names),
  ]);
}

describe('the CRD', () => {
  it('escapes names that CEL reserves, which older API servers do not parse', () => {
    const expressions = valuesOf(crd, ['rule', 'messageExpression']);
    expect(expressions.length).to.be.greaterThan(30);
    expect(
      expressions.filter((expression) => RESERVED.test(String(expression).replaceAll(/'[^']*'/g, "''"))),
    ).to.deep.equal([]);
    expect(expressions.some((expression) => String(expression).includes('.__namespace__'))).to.equal(true);
  });
});
