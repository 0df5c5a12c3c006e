/** Texts from outside of this program: cut, printable, quoted for a shell, without credentials. */
export * from './cut.ts';
export * from './error-text.ts';
export * from './printable.ts';
export * from './shell.ts';
export * from './redact.ts';
