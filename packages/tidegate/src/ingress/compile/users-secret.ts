import type { Ingress } from '@tidegate/kube';
import { NGINX_PREFIX } from '../nginx-annotations/index.ts';
import { credentialsReference, PolicyReader, readBasic } from '../policy/index.ts';

const NAMES = ['auth-type', 'auth-secret', 'auth-secret-type', 'auth-realm'];

/** `namespace/name` of the Secret with the users of an Ingress, without reading the rest of it. */
export function usersSecretOf({
  metadata: { namespace = '', annotations = {} },
}: Ingress): string | undefined {
  if (annotations[`${NGINX_PREFIX}auth-secret`] === undefined) return undefined;
  const written = NAMES.flatMap((name): [string, string][] => {
    const value = annotations[NGINX_PREFIX + name];
    return value === undefined ? [] : [[name, value]];
  });
  const basic = readBasic(new PolicyReader(new Map(written)), namespace);
  return basic && credentialsReference(basic.credentials).secret;
}
