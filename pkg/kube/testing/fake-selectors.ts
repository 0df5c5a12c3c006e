import type { KubeObject } from '../types.ts';

/**
 * Whether an object matches the `labelSelector` (`a=b`, `a!=b`, `a`, `!a`, joined by commas) and the `fieldSelector`
 * (only metadata.name and metadata.namespace) of a request.
 */
export function matchesSelector(parameters: URLSearchParams, { metadata }: KubeObject): boolean {
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
  };
  return fits(parameters.get('labelSelector'), metadata.labels ?? {}) && fits(parameters.get('fieldSelector'), fields);
}

function fits(selector: string | null, values: Readonly<Record<string, string | undefined>>): boolean {
  const requirements = (selector ?? '').split(',').filter((requirement) => requirement !== '');
  return requirements.every((requirement) => {
    const [, absent, name = '', operator, value] = /^(!?)([^!=]+)(?:(==?|!=)(.*))?$/.exec(requirement) ?? [];
    if (absent === '!') return values[name] === undefined;
    if (operator === undefined) return values[name] !== undefined;
    return (values[name] === value) === (operator !== '!=');
  });
}
