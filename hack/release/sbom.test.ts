import { expect } from 'chai';
import { softwareBillOfMaterials } from './sbom.ts';

describe('the software bill of materials', () => {
  const product = { name: 'manager', version: 'v0.1.0', licence: 'Apache-2.0' };
  const notice = (name: string, version: string) => ({ name, version, licence: 'MIT', texts: ['Permission'] });
  const others = [{ name: 'libc6', version: '2.41', purl: 'pkg:deb/debian/libc6@2.41?arch=amd64' }];
  const render = (...names: readonly string[]): string =>
    softwareBillOfMaterials(
      product,
      names.map((name) => notice(name, '1.0.0')),
      others,
    );

  it('lists each package once, with its package URL and licence', () => {
    const { components } = JSON.parse(render('zod', '@aws-sdk/client-eks', 'zod')) as { components: readonly object[] };
    const licenses = [{ expression: 'MIT' }];
    const entry = (name: string, purl: string) => ({ type: 'library', 'bom-ref': purl, name, version: '1.0.0', purl });
    expect(components).to.deep.equal([
      {
        type: 'library',
        'bom-ref': 'pkg:deb/debian/libc6@2.41?arch=amd64',
        name: 'libc6',
        version: '2.41',
        purl: 'pkg:deb/debian/libc6@2.41?arch=amd64',
      },
      { ...entry('@aws-sdk/client-eks', 'pkg:npm/%40aws-sdk/client-eks@1.0.0'), licenses },
      { ...entry('zod', 'pkg:npm/zod@1.0.0'), licenses },
    ]);
  });

  it('is the same for the same packages in another order', () => {
    expect(render('b', 'a')).to.equal(render('a', 'b'));
  });
});
