import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from trading memory for speed, which a process that waits for the network has little use for. To be called once
 * the modules are there, before any work: a heap that has grown stays so. On the command line it would have to be said
 * wherever the manager is started, and NODE_OPTIONS does not take these flags.
 */
export function keepHeapSmall(): void {
  // The young generation keeps the size that it has got so far: 4 MiB a semi-space, where V8 would go on to 16. With the one
  // MiB from before the modules were evaluated, garbage collection took a quarter of the processor time, and saved nothing.
  setFlagsFromString('--semi-space-growth-factor=1');
  // The old generation is collected when it has grown by so much since the last time; V8 would let it grow up to fourfold.
  setFlagsFromString('--heap-growing-percent=20');
  // Two of V8's four compilers optimise. Maglev's garbage, which the C library keeps for each thread that it ran in, was 8 MiB
  // with 200 profiles under way; without it their creation takes a fifth more processor time, and no longer. TurboFan takes
  // more, pages of the binary too, and saved no processor time.
  setFlagsFromString('--no-maglev');
  setFlagsFromString('--no-turbofan');
  // undici's HTTP parser is WebAssembly, one function of it so large that TurboFan takes 21 MiB for it, which
  // the C library keeps. Its baseline code is as good for what comes in by the kilobyte.
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
}
