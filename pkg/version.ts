/**
 * The version of this manager, which the build inserts into the bundle. When the sources run without a build, this
 * variable does not exist, so only `typeof` may read it.
 */
declare const __VERSION__: string | undefined;

/**
 * The version of this manager: `v0.1.0` for a release and for a build outside of a git checkout, `v0.1.0+<commit>` for
 * a build of a commit without release tag, `dev` if the sources run without a build. If the sources of the build differ
 * from the commit, `.dirty` follows.
 */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : 'dev';
