import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../test/envtest/control-plane/controlplane.ts';
import { type ServerProcess, waitUntilUp } from '../test/envtest/control-plane/process.ts';

const EMULATOR = fileURLToPath(new URL('../test/aws/main.ts', import.meta.url));

/** Starts the AWS emulator in a process of its own, which `ControlPlane.stop` stops. */
export async function startEmulator(controlPlane: ControlPlane): Promise<{ process: ServerProcess; url: string }> {
  const emulator = await controlPlane.run({ name: 'emulator', file: process.execPath, args: [EMULATOR] });
  // The AWS emulator prints only one line, its URL, so it listens as soon as its log has a complete line.
  await waitUntilUp([emulator], 'the emulated AWS listening', () => emulator.log().endsWith('\n'));
  return { process: emulator, url: emulator.log().trim() };
}
