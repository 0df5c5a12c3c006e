import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
}

interface Index {
  readonly manifests: readonly Descriptor[];
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface PlatformImage {
  readonly architecture: string;
  readonly config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
  readonly layers: readonly Descriptor[];
}

/** An OCI image layout, unpacked from an archive into a directory. */
export class ImageLayout {
  readonly #directory: string;

  constructor(archive: string, directory: string) {
    mkdirSync(directory, { recursive: true });
    execFileSync('tar', ['-xf', archive, '-C', directory]);
    this.#directory = directory;
  }

  /** Returns the images of all architectures in the image index. */
  images(): readonly PlatformImage[] {
    const [index] = (read(join(this.#directory, 'index.json')) as Index).manifests;
    if (index === undefined) throw new Error('the image layout is empty');
    return (read(this.#pathOf(index)) as Index).manifests.map((descriptor) => {
      const { config, layers } = read(this.#pathOf(descriptor)) as Manifest;
      const image = read(this.#pathOf(config)) as Pick<PlatformImage, 'config'>;
      return { architecture: descriptor.platform?.architecture ?? '', config: image.config, layers };
    });
  }

  /**
   * Unpacks the layers of an image into a directory. If the test runs as root, the files keep the owners that they have
   * in the layers.
   */
  unpack({ layers }: PlatformImage, directory: string): void {
    mkdirSync(directory, { recursive: true });
    for (const layer of layers) execFileSync('tar', ['-xzpf', this.#pathOf(layer), '--same-owner', '-C', directory]);
  }

  #pathOf({ digest }: Descriptor): string {
    return join(this.#directory, 'blobs', digest.replace(':', '/'));
  }
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
