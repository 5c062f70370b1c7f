/** Names of users and groups. */
import type { UserInfo } from '../resources/types.ts';

export const ANONYMOUS = 'system:anonymous';
export const AUTHENTICATED = 'system:authenticated';
export const UNAUTHENTICATED = 'system:unauthenticated';
export const MASTERS = 'system:masters';
export const NODES = 'system:nodes';
export const SERVICE_ACCOUNTS = 'system:serviceaccounts';

/** Keys of `extra` that the server sets. */
export const EXTRA = {
  credentialId: 'authentication.kubernetes.io/credential-id',
  podName: 'authentication.kubernetes.io/pod-name',
  podUid: 'authentication.kubernetes.io/pod-uid',
  nodeName: 'authentication.kubernetes.io/node-name',
  nodeUid: 'authentication.kubernetes.io/node-uid',
} as const;

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';
const NODE_PREFIX = 'system:node:';

/** The user name of a service account. */
export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;

/** The groups of every service account in the namespace. */
export const serviceAccountGroups = (namespace: string): string[] => [
  SERVICE_ACCOUNTS,
  `${SERVICE_ACCOUNTS}:${namespace}`,
];

export function parseServiceAccountUsername(
  username: string,
): { namespace: string; name: string } | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = username.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name };
}

export function parseNodeUsername(username: string): string | undefined {
  const name = username.startsWith(NODE_PREFIX) ? username.slice(NODE_PREFIX.length) : '';
  return name === '' ? undefined : name;
}

/** The node of a user. Both the name and the group must identify it as a node. */
export const nodeOf = (user: UserInfo): string | undefined =>
  user.groups.includes(NODES) ? parseNodeUsername(user.username) : undefined;

export const ANONYMOUS_USER: UserInfo = { username: ANONYMOUS, groups: [UNAUTHENTICATED] };

/** Every user with valid credentials is also a member of `system:authenticated`. */
export function authenticated(user: UserInfo): UserInfo {
  return user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED)
    ? user
    : { ...user, groups: [...user.groups, AUTHENTICATED] };
}
