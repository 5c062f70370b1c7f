import type { Ingress } from '@tidegate/kube';
import { NGINX_PREFIX } from '../nginx-annotations/index.ts';
import {
  authoritiesSecret,
  credentialsReference,
  PolicyReader,
  readAuthHeaders,
  readBackendTls,
  readBasic,
  readClientCertificate,
} from '../policy/index.ts';

const NAMES = ['auth-type', 'auth-secret', 'auth-secret-type', 'auth-realm'];

/** `namespace/name` of the Secret with the users of an Ingress, without reading the rest of it. */
function usersSecretOf({ metadata: { namespace = '', annotations = {} } }: Ingress): string | undefined {
  if (annotations[`${NGINX_PREFIX}auth-secret`] === undefined) return undefined;
  const written = NAMES.flatMap((name): [string, string][] => {
    const value = annotations[NGINX_PREFIX + name];
    return value === undefined ? [] : [[name, value]];
  });
  const basic = readBasic(new PolicyReader(new Map(written)), namespace);
  return basic && credentialsReference(basic.credentials).secret;
}

/** `namespace/name` of the Secret with the authorities of client certificates of an Ingress. */
function authoritiesSecretOf({
  metadata: { namespace = '', annotations = {} },
}: Ingress): string | undefined {
  const name = 'auth-tls-secret';
  const value = annotations[NGINX_PREFIX + name];
  if (value === undefined) return undefined;
  const own = readClientCertificate(new PolicyReader(new Map([[name, value]])), namespace);
  return own && authoritiesSecret(own.credentials);
}

/** `namespace/name` of the Secret with the certificate for endpoints of an Ingress. */
function clientSecretOf({ metadata: { namespace = '', annotations = {} } }: Ingress): string | undefined {
  const name = 'proxy-ssl-secret';
  const value = annotations[NGINX_PREFIX + name];
  if (value === undefined) return undefined;
  const own = readBackendTls(new PolicyReader(new Map([[name, value]])), namespace);
  return own?.credentials && credentialsReference(own.credentials).secret;
}

/**
 * The ConfigMaps with headers that annotations of an Ingress name. All of them are in its namespace. Whether the class allows
 * `custom-headers` does not matter here.
 */
export function configMapsOfAnnotations({ metadata }: Ingress): string[] {
  const { namespace = '', annotations = {} } = metadata;
  const names = ['custom-headers', 'auth-proxy-set-headers'].flatMap((name) => {
    const value = annotations[NGINX_PREFIX + name];
    if (value === undefined) return [];
    const id = readAuthHeaders(new PolicyReader(new Map([['auth-proxy-set-headers', value]])), namespace);
    return id === undefined ? [] : [credentialsReference(id).secret];
  });
  return [...new Set(names)];
}

/** The Secrets that annotations of an Ingress name. All of them are in its namespace. */
export const secretsOfAnnotations = (ingress: Ingress): string[] =>
  [usersSecretOf(ingress), authoritiesSecretOf(ingress), clientSecretOf(ingress)].flatMap(
    (secret) => secret ?? [],
  );
