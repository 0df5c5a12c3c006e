import type { OpenApi, Rule } from 'controller-runtime/schema';
import { AWSFargateProfile } from '../api/v1beta2/index.ts';

interface Row {
  readonly path: string;
  readonly schema: OpenApi;
}

const fieldRows = (schema: OpenApi, path: string): readonly Row[] => [
  ...(path === '' ? [] : [{ path, schema }]),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    fieldRows(property, path === '' ? name : `${path}.${name}`),
  ),
  ...Object.entries(schema.items?.properties ?? {}).flatMap(([name, property]) =>
    fieldRows(property, `${path}[].${name}`),
  ),
];

const typeOf = ({ type, format, items, additionalProperties, enum: words }: OpenApi): string => {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (additionalProperties !== undefined) return `map of ${typeOf(additionalProperties)}`;
  return format === 'date-time' ? 'time' : (type ?? 'anything');
};

/** Returns a table for docs/api.md with all fields of spec or status. */
export const fieldTable = (field: 'spec' | 'status'): string => {
  const schema = AWSFargateProfile.openapi.properties?.[field];
  if (schema === undefined) throw new Error(`the schema has no ${field}`);
  const lines = fieldRows(schema, '').map(({ path, schema: node }) => {
    const standard = node.default === undefined ? '' : `\`${JSON.stringify(node.default)}\``;
    return `| \`${path}\` | ${typeOf(node)} | ${standard} | ${cell(node.description ?? '')} |`;
  });
  return ['| Field | Type | Default | Description |', '|---|---|---|---|', ...lines].join('\n');
};

const ruleRows = (schema: OpenApi, path: string): readonly string[] => [
  ...(schema['x-kubernetes-validations'] ?? []).map(
    ({ fieldPath = '', message }: Rule) => `| \`${`${path}${fieldPath}`.replace(/^\./, '')}\` | ${cell(message)} |`,
  ),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => ruleRows(property, `${path}.${name}`)),
  ...(schema.items === undefined ? [] : ruleRows(schema.items, `${path}[]`)),
  ...(schema.additionalProperties === undefined ? [] : ruleRows(schema.additionalProperties, `${path}[]`)),
];

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*');

/** Returns the table of docs/api.md with the validation rules. */
export const ruleTable = (): string =>
  ['| Field | Message |', '|---|---|', ...ruleRows(AWSFargateProfile.openapi, '')].join('\n');
