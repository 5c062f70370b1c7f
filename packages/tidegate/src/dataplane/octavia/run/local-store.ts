import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno, writeFileAtomically } from '@tidegate/disk';
import type { CertificateStore, StoredCertificate } from './certificate-store.ts';

/**
 * Certificates for the local certificate manager of Octavia: a directory that the manager and Octavia share. The
 * reference of a certificate is the name of its files.
 */
export class LocalStore implements CertificateStore {
  readonly #directory: string;
  readonly #prefix: string;

  constructor(directory: string, prefix: string) {
    this.#directory = directory;
    this.#prefix = prefix;
  }

  async list(): Promise<Map<string, string>> {
    const files = await readdir(this.#directory);
    const names = files
      .filter((file) => file.startsWith(this.#prefix) && file.endsWith('.crt'))
      .map((file) => file.slice(0, -'.crt'.length));
    return new Map(names.map((name) => [name, name]));
  }

  async store(name: string, { certificate, key }: StoredCertificate): Promise<string> {
    const [leaf = '', ...chain] = certificate.split(/(?<=-----END CERTIFICATE-----\n?)(?=-----BEGIN)/);
    // The certificate comes last: with it, everything is there.
    writeFileAtomically(join(this.#directory, `${name}.key`), key, 0o640);
    if (chain.length > 0) writeFileAtomically(join(this.#directory, `${name}.int`), chain.join(''), 0o640);
    writeFileAtomically(join(this.#directory, `${name}.crt`), leaf, 0o640);
    return name;
  }

  async delete(name: string): Promise<void> {
    for (const kind of ['crt', 'int', 'key']) {
      try {
        await rm(join(this.#directory, `${name}.${kind}`));
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
  }
}
