import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueCertificate, type KeyPair, selfSignedCa } from '@tidegate/kube/certificates';

const DAY_MS = 24 * 60 * 60 * 1000;

/** How a client authenticates at the API server. */
export type User = KeyPair | { token: string };

/** The CA of the cluster, the key of its service account tokens, and the files that programs read. */
export class Credentials {
  readonly #directory: string;
  readonly #validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  readonly #caKey = newKey();
  readonly #ca = selfSignedCa({ commonName: 'kubernetes', organizations: [] }, this.#caKey, this.#validity);
  readonly caFile: string;
  readonly caKeyFile: string;
  readonly tokenKeyFile: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.caFile = this.write('ca.crt', this.#ca);
    this.caKeyFile = this.write('ca.key', pem(this.#caKey));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.tokenKeyFile = this.write(
      'tokens.key',
      privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    );
  }

  client(commonName: string, ...organizations: string[]): KeyPair {
    return this.#issue({ commonName, organizations }, 'clientAuth', []);
  }

  server(commonName: string, ...altNames: string[]): KeyPair {
    return this.#issue({ commonName, organizations: [] }, 'serverAuth', altNames);
  }

  write(name: string, text: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  kubeconfig(name: string, server: string, user: User): string {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const entry =
      'token' in user
        ? user
        : { 'client-certificate-data': base64(user.certificate), 'client-key-data': base64(user.key) };
    // JSON is valid YAML.
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(this.#ca) } }],
      users: [{ name, user: entry }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    });
    return this.write(`${name}.kubeconfig`, text);
  }

  #issue(
    subject: { commonName: string; organizations: string[] },
    usage: 'clientAuth' | 'serverAuth',
    altNames: string[],
  ): KeyPair {
    const key = newKey();
    const certificate = issueCertificate(
      { subject, publicKey: createPublicKey(key), ...this.#validity, usages: [usage], altNames },
      { certificate: this.#ca, privateKey: this.#caKey },
    );
    return { certificate, key: pem(key) };
  }
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const pem = (key: KeyObject): string => key.export({ type: 'sec1', format: 'pem' }).toString();
