/**
 * The flags of Node.js with which the manager runs: in the image, through the first line of `dist/manager.mjs`, and in
 * tests. They are flags of V8; NODE_OPTIONS cannot replace them, because it does not accept all of them.
 * docs/performance.md has measurements of their effect.
 */
export const NODE_FLAGS: readonly string[] = [
  // Limits each semi-space of V8's young generation to 4 MiB. By default a semi-space grows to 16 MiB, and a grown heap
  // does not shrink.
  '--max-semi-space-size=4',
  // Makes V8 collect the old generation after 10 % of growth. By default V8 lets the old generation grow up to fourfold
  // before a collection.
  '--heap-growing-percent=10',
  // --no-wasm-tier-up and --no-wasm-dynamic-tiering keep V8 from optimizing undici's HTTP parser, which is WebAssembly.
  // V8's compiler TurboFan takes 21 MiB to compile one large function of the parser, and the C library keeps that
  // memory.
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
];

/**
 * The environment variables with which the manager runs: in the image, through the first line of `dist/manager.mjs`,
 * and in tests.
 */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Limits the C library to two memory pools (arenas). By default, each thread of Node.js gets a pool of its own, and
  // the other threads cannot use the free memory of that pool. The limit saves 8 to 10 MiB.
  MALLOC_ARENA_MAX: '2',
};

/** The environment variables in the form `name=value`. */
export const ASSIGNMENTS: readonly string[] = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`);

/**
 * The first line of `dist/manager.mjs`. It makes the file an executable program, which runs with the Node.js in PATH.
 */
export const HASHBANG = `#!/usr/bin/env -S ${[...ASSIGNMENTS, 'node', ...NODE_FLAGS].join(' ')}`;
