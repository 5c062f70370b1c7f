/** An OCI archive, as `npm run image` writes it, unpacked into a folder. */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: { architecture: string; os: string };
  annotations?: Record<string, string>;
}

export interface ImageConfig {
  architecture: string;
  config: {
    User: string;
    Env: string[];
    Entrypoint: string[];
    WorkingDir: string;
    Labels: Record<string, string>;
  };
}

export interface Sbom {
  spdxVersion: string;
  packages: { name: string; versionInfo: string; checksums?: { checksumValue: string }[] }[];
}

/** Runs `npm run image` and returns what it wrote. */
export async function buildImage(folder: string, ...options: string[]): Promise<Archive> {
  const output = await run([
    process.execPath,
    repositoryFile('scripts/image.js'),
    ...['--output', folder, ...options],
  ]);
  const [, name = '', digest = ''] = /^(\S+) (sha256:\w+)$/m.exec(output) ?? [];
  const files = await readdir(folder);
  const archive = files.find((file) => file.endsWith('.tar'));
  const layout = join(folder, 'layout');
  await mkdir(layout);
  await run(['tar', '-xf', join(folder, `${archive}`), '-C', layout]);
  return new Archive(name, digest, folder, layout);
}

export class Archive {
  readonly name: string;
  readonly digest: string;
  readonly #folder: string;
  readonly #layout: string;

  constructor(name: string, digest: string, folder: string, layout: string) {
    this.name = name;
    this.digest = digest;
    this.#folder = folder;
    this.#layout = layout;
  }

  get manifests(): Promise<Descriptor[]> {
    return this.#json<{ manifests: Descriptor[] }>(this.#blob(this.digest)).then(
      ({ manifests }) => manifests,
    );
  }

  get index(): Promise<{ manifests: Descriptor[] }> {
    return this.#json(join(this.#layout, 'index.json'));
  }

  async config(architecture: string): Promise<ImageConfig> {
    return this.#json(this.#blob((await this.#manifest(architecture)).config.digest));
  }

  async sbom(architecture: string): Promise<Sbom> {
    const name = (await readdir(this.#folder)).find((file) => file.endsWith(`-${architecture}.spdx.json`));
    return this.#json(join(this.#folder, `${name}`));
  }

  /** Writes the files of the image into a folder, as a container runtime does. */
  async unpack(architecture: string): Promise<string> {
    const target = join(this.#folder, architecture);
    await mkdir(target);
    for (const { digest } of (await this.#manifest(architecture)).layers)
      await run(['tar', '-xf', this.#blob(digest), '-C', target]);
    return target;
  }

  async #manifest(architecture: string): Promise<{ config: Descriptor; layers: Descriptor[] }> {
    const found = (await this.manifests).find(({ platform }) => platform?.architecture === architecture);
    return this.#json(this.#blob(`${found?.digest}`));
  }

  #blob(digest: string): string {
    return join(this.#layout, 'blobs', digest.replace(':', '/'));
  }

  async #json<T>(file: string): Promise<T> {
    return JSON.parse(await readFile(file, 'utf8')) as T;
  }
}
