import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  type CallOptions,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type Logger,
  SECRETS,
  type Secret,
} from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { bundleOf, renewed } from './authorities.ts';

/** The Secret in which all managers of a cluster share the certificate authorities. */
export interface SecretName {
  namespace: string;
  name: string;
}

/** More conflicts than this in a row are not caused by other managers. */
const MAX_ATTEMPTS = 10;

/**
 * Returns the current authorities. Writes the Secret only if an authority has to be added or removed. If several
 * managers do so at the same time, one of them succeeds, and the others read what it wrote.
 */
export async function sharedAuthorities(
  client: KubeClient,
  name: SecretName,
  options: CallOptions & { now: number; log: Logger },
): Promise<readonly KeyPair[]> {
  const { now, log, ...call } = options;
  for (let attempt = 1; ; attempt++) {
    const secret = await read(client, name, call);
    const stored = secret === undefined ? [] : authoritiesIn(secret, log);
    const wanted = renewed(stored, now);
    if (wanted === stored) return stored;
    try {
      await write(client, name, secret, wanted, call);
      log.info(
        { authorities: wanted.length },
        'renewed the certificate authorities of the admission webhook',
      );
      return wanted;
    } catch (error) {
      const isLost = isAlreadyExists(error) || isConflict(error) || isNotFound(error);
      if (!isLost || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function read(client: KubeClient, name: SecretName, call: CallOptions): Promise<Secret | undefined> {
  try {
    return await client.get(SECRETS, name, call);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function write(
  client: KubeClient,
  { namespace, name }: SecretName,
  before: Secret | undefined,
  authorities: readonly KeyPair[],
  call: CallOptions,
): Promise<void> {
  const data = {
    'ca.crt': base64(bundleOf(authorities)),
    'ca.key': base64(authorities.map(({ key }) => key).join('')),
  };
  if (before === undefined) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, type: 'Opaque', data };
    await client.create(SECRETS, secret, call);
  } else await client.update(SECRETS, { ...before, data }, call);
}

/** A damaged Secret is treated as empty, because authorities can be created again at any time. */
function authoritiesIn({ data = {} }: Secret, log: Logger): readonly KeyPair[] {
  const [certificates, keys] = [blocksIn(data['ca.crt']), blocksIn(data['ca.key'])];
  try {
    return certificates.map((certificate, index) => {
      const key = keys[index] ?? '';
      if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
        throw new Error(`key ${index} in ca.key does not belong to certificate ${index} in ca.crt`);
      return { certificate, key };
    });
  } catch (err) {
    log.warn({ err }, 'the Secret of the admission webhook is invalid; creating new certificate authorities');
    return [];
  }
}

const blocksIn = (data: string | undefined): string[] =>
  Buffer.from(data ?? '', 'base64')
    .toString()
    .match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n?/g) ?? [];

const base64 = (text: string): string => Buffer.from(text).toString('base64');
