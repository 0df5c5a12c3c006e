/** Text that the build puts in; it is not there when the sources run as they are. */
declare const __VERSION__: string | undefined;

/** The version of this manager: `v0.1.0`, between releases with the commit behind a plus sign, unbundled `dev`. */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : 'dev';
