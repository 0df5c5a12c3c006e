import type { Notice } from '../build/notices.ts';

/** A component of the product that is not in the bundle of the manager, such as Node.js or a Debian package. */
export interface OtherComponent {
  readonly name: string;
  readonly version: string;
  /** The package URL: https://github.com/package-url/purl-spec */
  readonly purl: string;
  readonly licence?: string;
}

/** A CycloneDX component: https://cyclonedx.org/docs/1.6/json/#components */
interface Component {
  readonly type: 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly expression: string }[];
}

const npmUrl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const componentOf = ({ name, version, purl, licence }: OtherComponent): Component => ({
  type: 'library',
  'bom-ref': purl,
  name,
  version,
  purl,
  ...(licence !== undefined && { licenses: [{ expression: licence }] }),
});

/**
 * Returns the software bill of materials of a version in the format CycloneDX 1.6: the npm packages whose code is in
 * the bundle, and other components. There is no serial number and no time, so the same inputs give the same bytes.
 */
export function softwareBillOfMaterials(
  product: { readonly name: string; readonly version: string; readonly licence: string },
  notices: readonly Notice[],
  others: readonly OtherComponent[],
): string {
  const { name, version, licence } = product;
  const ref = `${name}@${version}`;
  const all = [
    ...notices.map((notice) => componentOf({ ...notice, purl: npmUrl(notice.name, notice.version) })),
    ...others.map(componentOf),
  ];
  // The bundle can contain two copies of the same version of a package. The software bill of materials lists the copies
  // as one component.
  const components = [...new Map(all.map((component) => [component.purl, component])).values()].toSorted((a, b) =>
    a.purl < b.purl ? -1 : 1,
  );
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': ref, name, version, licenses: [{ expression: licence }] },
    },
    components,
    dependencies: [{ ref, dependsOn: components.map((component) => component['bom-ref']) }],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}
