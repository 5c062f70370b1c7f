/** Certificates of clients, their authorities, and lists of revoked certificates, made with openssl. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../support/process.ts';

export interface ClientKeyPair {
  cert: string;
  key: string;
}

const EXTENSIONS = `
[ca]
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
[client]
basicConstraints=critical,CA:FALSE
extendedKeyUsage=clientAuth
[server]
basicConstraints=critical,CA:FALSE
extendedKeyUsage=serverAuth
[own]
database=index.txt
default_md=sha256
crlnumber=number
`;

/** A certificate authority. `end` removes its files. */
export class ClientAuthority {
  readonly certificate: string;
  readonly #directory: string;
  #made = 0;

  private constructor(directory: string, certificate: string) {
    this.#directory = directory;
    this.certificate = certificate;
  }

  static async create(
    name: string,
    parent?: ClientAuthority,
    { days = 2 }: { days?: number } = {},
  ): Promise<ClientAuthority> {
    const directory = mkdtempSync(join(tmpdir(), 'tidegate-authority-'));
    writeFileSync(join(directory, 'extensions'), EXTENSIONS);
    writeFileSync(join(directory, 'index.txt'), '');
    writeFileSync(join(directory, 'number'), '01\n');
    const maker = new ClientAuthority(directory, '');
    await maker.#request('ca', `/CN=${name}`);
    const by =
      parent === undefined
        ? ['-signkey', 'ca.key']
        : ['-CA', join(parent.#directory, 'ca.pem'), '-CAkey', join(parent.#directory, 'ca.key')];
    await maker.#sign('ca', 'ca', by, days);
    return new ClientAuthority(directory, maker.#read('ca.pem'));
  }

  async issue(
    subject: string,
    { days = 2, usage = 'client' }: { days?: number; usage?: 'client' | 'server' } = {},
  ): Promise<ClientKeyPair & { name: string }> {
    const name = `client${this.#made++}`;
    await this.#request(name, subject);
    await this.#sign(name, usage, ['-CA', 'ca.pem', '-CAkey', 'ca.key'], days);
    return { name, cert: this.#read(`${name}.pem`), key: this.#read(`${name}.key`) };
  }

  /** A list of revoked certificates. */
  async revoked(...names: string[]): Promise<string> {
    let lines = '';
    for (const name of names) {
      const written = await this.#openssl('x509', '-in', `${name}.pem`, '-noout', '-serial');
      lines += `R\t491231235959Z\t200101000000Z\t${written.trim().split('=')[1]}\tunknown\t/CN=${name}\n`;
    }
    writeFileSync(join(this.#directory, 'index.txt'), lines);
    const own = ['-config', 'extensions', '-name', 'own', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
    await this.#openssl('ca', '-gencrl', ...own, '-crldays', '2', '-out', 'revoked.pem');
    return this.#read('revoked.pem');
  }

  end(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #request(name: string, subject: string): Promise<void> {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    await this.#openssl('req', '-new', '-utf8', '-subj', subject, ...key, '-out', `${name}.csr`);
  }

  async #sign(name: string, section: string, by: string[], days = 2): Promise<void> {
    const files = [
      '-in',
      `${name}.csr`,
      '-out',
      `${name}.pem`,
      '-extfile',
      'extensions',
      '-extensions',
      section,
    ];
    const serial = BigInt(Date.now()) * 1000n + BigInt(Math.floor(Math.random() * 1000));
    await this.#openssl('x509', '-req', ...files, ...by, '-days', `${days}`, '-set_serial', `${serial}`);
  }

  #openssl(...parameters: string[]): Promise<string> {
    return run(['openssl', ...parameters], { cwd: this.#directory });
  }

  #read(file: string): string {
    return readFileSync(join(this.#directory, file), 'utf8');
  }
}
