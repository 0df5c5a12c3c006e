/** Texts from outside of this program: cut, printable, quoted for a shell, without credentials. */
export { MAX_FACT, MAX_MESSAGE, cut } from './cut.ts';
export { errorMessage, codeOf, errorStack, toJson } from './error-text.ts';
export { hasHidden, escapeHidden, toPrintableLine } from './printable.ts';
export { shellCommand } from './shell.ts';
export { redactCredentials, yamlProblem } from './redact.ts';
