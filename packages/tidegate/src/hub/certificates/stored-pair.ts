/** A private key and its certificate in one file, so that they always fit together. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeFileAtomically } from '@tidegate/disk';
import type { KeyPair } from '@tidegate/kube/certificates';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

/** Undefined when there is none, or what there is can not be used: a new one will replace it. */
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

export const writePair = (file: string, { key, certificate }: KeyPair): void =>
  writeFileAtomically(file, `${key}${certificate}`, 0o600);

/** What is wrong with the two, if anything. */
export function mismatch({ key, certificate }: KeyPair): string | undefined {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
      ? undefined
      : 'the private key is not that of the certificate';
  } catch (error) {
    return (error as Error).message;
  }
}
