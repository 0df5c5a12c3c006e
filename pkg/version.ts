/**
 * The version of this manager, which the build inserts into the bundle; undefined when the sources run without a build.
 */
declare const __VERSION__: string | undefined;

/**
 * The version of this manager: `v0.1.0` for a release, `v0.1.0+<commit>` for a build of a commit without release tag,
 * `dev` if the sources run without a build.
 */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : 'dev';
