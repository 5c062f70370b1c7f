/**
 * The cause of something that the hub keeps. The identity is a client; the tenant is all clients that one party can create: the
 * service accounts of a namespace, or the tokens of a user.
 */
export interface Holder {
  readonly identity: string;
  readonly tenant: string;
}

/** The tenant of everything that concerns one namespace. */
export const tenantOfNamespace = (namespace: string): string => `namespace ${namespace}`;

/**
 * The tenant of a user, by the name that the API server uses for it. Names that are not known share one tenant. A user that
 * may create service accounts or tokens in its namespace gains no second share with them.
 */
export function tenantOfUser(username: string): string {
  const [system, kind, namespace, name] = username.split(':');
  if (system === 'system' && kind === 'serviceaccount' && namespace && name)
    return tenantOfNamespace(namespace);
  return username === '' ? 'unknown users' : `user ${username}`;
}
