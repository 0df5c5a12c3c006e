import { setFlagsFromString } from 'node:v8';

/**
 * Sets V8 flags that reduce memory at the cost of speed, because the manager mostly waits for the network. This function
 * must run after the modules are loaded and before any work, because a grown heap does not shrink. Flags on the command line
 * would be missing in some ways of starting the manager, and NODE_OPTIONS does not accept these flags.
 */
export function setV8Flags(): void {
  // Keeps V8's young generation at the semi-space size that it has at this moment, 4 MiB. By default V8 lets it grow to 16
  // MiB. With a semi-space of 1 MiB, V8's size before the modules are evaluated, garbage collection took a quarter of the
  // processor time and no memory was saved.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Makes V8 collect the old generation after 20 % of growth. By default V8 lets it grow up to fourfold.
  setFlagsFromString('--heap-growing-percent=20');
  // Turns off V8's two optimizing compilers, Maglev and TurboFan. With 200 profiles, Maglev's garbage was 8 MiB, which the C
  // library keeps for each compiler thread. Without Maglev the creation of these profiles takes a fifth more processor time,
  // but not more time. TurboFan takes more memory, including pages of the Node.js binary, and saved no processor time.
  setFlagsFromString('--no-maglev');
  setFlagsFromString('--no-turbofan');
  // Keeps V8 from optimizing undici's HTTP parser, which is WebAssembly. TurboFan takes 21 MiB to compile one large function
  // of the parser, and the C library keeps that memory. Unoptimized code is fast enough for responses of some kilobytes.
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
}
