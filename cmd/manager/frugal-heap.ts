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
  // The last of V8's four compilers takes memory while it works, and pages of the binary for good. It saves no processor
  // time here: Maglev's code is as good for what runs some hundred times a second.
  setFlagsFromString('--no-turbofan');
  // undici's HTTP parser is WebAssembly, one function of it so large that the same compiler would take 21 MiB for it, which
  // the C library keeps. Its baseline code is as good for what comes in by the kilobyte.
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
}
