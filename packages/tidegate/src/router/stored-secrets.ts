import { type ConfigMap, type Secret, splitKey } from '@tidegate/kube';
import type { Credentials, Delta } from '../ingress/model.ts';
import { credentialsReference } from '../ingress/policy/index.ts';

/** The Secrets that a stored table was read from. One Secret can have a certificate, users and authorities. */
export function storedSecrets({ certificates, credentials }: Delta): Secret[] {
  const texts = new Map<string, Record<string, string>>();
  const add = (secret: string, more: Readonly<Record<string, string>>): void => {
    texts.set(secret, { ...texts.get(secret), ...more });
  };
  const stored = (credentials?.set ?? []).filter(({ headers }) => headers === undefined);
  // The keys of others must not become users.
  const isMap = ({ id }: Credentials): boolean => credentialsReference(id).kind === 'map';
  for (const each of stored.filter(isMap)) add(credentialsReference(each.id).secret, each.users);
  for (const each of stored.filter((one) => !isMap(one)))
    add(credentialsReference(each.id).secret, textsOf(each));
  const served = certificates.set.filter(({ certificate }) => certificate !== '');
  for (const { secret, certificate, key } of served) add(secret, { 'tls.crt': certificate, 'tls.key': key });
  const isServed = new Set(served.map(({ secret }) => secret));
  return [...texts].map(([key, data]) =>
    secretWith(key, isServed.has(key) ? 'kubernetes.io/tls' : 'Opaque', data),
  );
}

/** The ConfigMaps that a stored table was read from. */
export function storedConfigMaps({ credentials }: Delta): ConfigMap[] {
  const data = new Map<string, Record<string, string>>();
  for (const { id, headers } of credentials?.set ?? []) {
    const { secret: key } = credentialsReference(id);
    if (headers !== undefined) data.set(key, { ...data.get(key), ...headers });
  }
  return [...data].map(([key, headers]) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: splitKey(key),
    data: headers,
  }));
}

function textsOf({ users, authorities, client }: Credentials): Record<string, string> {
  if (authorities !== undefined) {
    const { certificates, revoked } = authorities;
    return { 'ca.crt': certificates.join(''), ...(revoked.length > 0 && { 'ca.crl': revoked.join('') }) };
  }
  if (client !== undefined) {
    const { certificate, key, authorities: trusted } = client;
    return {
      ...(certificate !== undefined && { 'tls.crt': certificate }),
      ...(key !== undefined && { 'tls.key': key }),
      ...(trusted !== undefined && { 'ca.crt': trusted }),
    };
  }
  const lines = Object.entries(users).map(([name, hash]) => `${name}:${hash}\n`);
  return { auth: lines.join('') };
}

function secretWith(key: string, type: string, texts: Readonly<Record<string, string>>): Secret {
  const { namespace, name } = splitKey(key);
  const data = Object.entries(texts).map(([each, text]) => [each, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    type,
    data: Object.fromEntries(data),
  };
}
