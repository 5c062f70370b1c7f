import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  type CallOptions,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KeyPair,
  type KubeClient,
  type Logger,
  SECRETS,
  type Secret,
} from '@tidegate/kube';
import { bundleOf, renewed } from './authorities.ts';

/** Where all managers of a cluster keep the authorities that they share. */
export interface SecretName {
  namespace: string;
  name: string;
}

/** So many managers that renew in the same moment are a mistake somewhere. */
const MOST_ATTEMPTS = 10;

/**
 * The authorities as they shall be now: read, and written only when one must come or go. Of several managers that do
 * so at once one succeeds, and the others take what it wrote.
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
      log.info({ authorities: wanted.length }, 'the authorities of the webhook changed');
      return wanted;
    } catch (error) {
      const lost = isAlreadyExists(error) || isConflict(error) || isNotFound(error);
      if (!lost || attempt === MOST_ATTEMPTS) throw error;
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

/** A Secret that somebody broke counts as empty: authorities can always be made anew. */
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
    log.warn({ err }, 'the Secret of the webhook can not be read; its authorities are made anew');
    return [];
  }
}

const blocksIn = (data: string | undefined): string[] =>
  Buffer.from(data ?? '', 'base64')
    .toString()
    .match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n?/g) ?? [];

const base64 = (text: string): string => Buffer.from(text).toString('base64');
