/** A private key and its certificate in one file, which is replaced atomically, so that they always match. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeFileAtomically } from '@tidegate/disk';
import type { KeyPair } from '@tidegate/kube/certificates';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

/** Returns undefined if the file does not exist or is not usable. The next certificate replaces it. */
export async function readPair(file: string): Promise<KeyPair | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const begin = text.indexOf(CERTIFICATE);
  if (begin < 0) return undefined;
  const pair = { key: text.slice(0, begin), certificate: text.slice(begin) };
  return mismatch(pair) === undefined ? pair : undefined;
}

/** Only the owner can read the file, because it contains the private key. */
export const writePair = (file: string, { key, certificate }: KeyPair): void =>
  writeFileAtomically(file, `${key}${certificate}`, 0o600);

/** Returns what is wrong with the pair, or undefined if the key belongs to the certificate. */
export function mismatch({ key, certificate }: KeyPair): string | undefined {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
      ? undefined
      : 'the private key does not belong to the certificate';
  } catch (error) {
    return (error as Error).message;
  }
}
