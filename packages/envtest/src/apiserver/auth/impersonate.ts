/**
 * Impersonation (`kubectl --as`). Since Kubernetes 1.36 there are several modes (KEP-5284). The constrained modes check
 * two permissions: to perform *this action* while impersonating (`impersonate-on:<mode>:<verb>`), and to impersonate
 * *this user* (`impersonate:<mode>`). The legacy mode checks only the second, with the verb `impersonate`.
 */

import type { IncomingMessage } from 'node:http';
import { ownField, setField } from '@tidegate/kube';
import { type ApiError, badRequest } from '@tidegate/serving';
import type { UserInfo } from '../resources/types.ts';
import {
  type Attributes,
  type Authorizer,
  forbiddenError,
  type ResourceAttributes,
} from './authorization.ts';
import {
  ANONYMOUS,
  authenticated,
  EXTRA,
  MASTERS,
  NODES,
  parseNodeUsername,
  parseServiceAccountUsername,
  serviceAccountGroups,
  UNAUTHENTICATED,
} from './identity.ts';

const PREFIX = 'impersonate-';
const EXTRA_PREFIX = 'impersonate-extra-';

type Request = Pick<IncomingMessage, 'headers' | 'headersDistinct'>;

/** Returns the user that the request runs as. Throws a 403 or 400 error in the words of kube-apiserver. */
export function impersonate(
  request: Request,
  requestor: UserInfo,
  attributes: Attributes,
  authorizer: Authorizer,
): UserInfo {
  const wanted = readHeaders(request);
  if (wanted === undefined) return requestor;
  let refusal: ApiError | undefined;
  for (const mode of MODES) {
    if (!mode.suits(wanted, requestor)) continue;
    const error = checkMode(mode, wanted, requestor, attributes, authorizer);
    if (error === undefined) return impersonated(mode, wanted);
    refusal ??= error;
  }
  throw refusal;
}

interface Mode {
  /** '' is the legacy, unconstrained mode. */
  name: string;
  suits(wanted: UserInfo, requestor: UserInfo): boolean;
}

const onlyUsername = (user: UserInfo): boolean =>
  user.uid === undefined && user.groups.length === 0 && user.extra === undefined;

/**
 * From the most to the least constrained. The first mode that suits and is permitted is used; if none is permitted,
 * the error of the first one that suits is returned.
 */
const MODES: Mode[] = [
  {
    name: 'associated-node',
    suits(wanted, requestor) {
      const node = parseNodeUsername(wanted.username);
      return (
        node !== undefined &&
        onlyUsername(wanted) &&
        parseServiceAccountUsername(requestor.username) !== undefined &&
        requestor.extra?.[EXTRA.nodeName]?.length === 1 &&
        requestor.extra[EXTRA.nodeName]?.[0] === node
      );
    },
  },
  {
    name: 'arbitrary-node',
    suits: (wanted) => onlyUsername(wanted) && parseNodeUsername(wanted.username) !== undefined,
  },
  {
    name: 'serviceaccount',
    suits: (wanted) => onlyUsername(wanted) && parseServiceAccountUsername(wanted.username) !== undefined,
  },
  {
    name: 'user-info',
    suits: (wanted) =>
      parseNodeUsername(wanted.username) === undefined &&
      parseServiceAccountUsername(wanted.username) === undefined,
  },
  { name: '', suits: () => true },
];

/** The first missing permission, as an error; undefined if all are granted. */
function checkMode(
  mode: Mode,
  wanted: UserInfo,
  requestor: UserInfo,
  attributes: Attributes,
  authorizer: Authorizer,
): ApiError | undefined {
  const constrained = mode.name !== '';
  const questions: Attributes[] = constrained
    ? [{ ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` }]
    : [];
  questions.push(...identityQuestions(mode, wanted));
  for (const question of questions) {
    const decision = authorizer.authorize(requestor, question);
    if (!decision.allowed) return forbiddenError(requestor, question, decision.reason);
    if (
      constrained &&
      'resource' in question &&
      question.resource === 'groups' &&
      question.name === MASTERS
    ) {
      return forbiddenError(requestor, question, 'impersonating the system:masters group is not allowed');
    }
  }
  return undefined;
}

/** One permission check for each property of the impersonated user. */
function identityQuestions(mode: Mode, wanted: UserInfo): ResourceAttributes[] {
  const constrained = mode.name !== '';
  const verb = constrained ? `impersonate:${mode.name}` : 'impersonate';
  const ask = (
    resource: string,
    name: string,
    more: Partial<ResourceAttributes> = {},
  ): ResourceAttributes => ({
    verb,
    group: 'authentication.k8s.io',
    resource,
    subresource: '',
    namespace: '',
    name,
    ...more,
  });
  const group = constrained ? 'authentication.k8s.io' : '';
  const serviceAccount = parseServiceAccountUsername(wanted.username);
  const node = constrained ? parseNodeUsername(wanted.username) : undefined;

  const questions: ResourceAttributes[] = [];
  if (serviceAccount !== undefined) {
    const { namespace, name } = serviceAccount;
    questions.push(ask('serviceaccounts', name, { group, namespace }));
  } else if (node !== undefined) {
    // A service account may impersonate the node that it runs on; the permission does not name the node.
    questions.push(ask('nodes', mode.name === 'associated-node' ? '*' : node));
  } else {
    questions.push(ask('users', wanted.username, { group }));
  }
  if (wanted.uid !== undefined) questions.push(ask('uids', wanted.uid));
  for (const name of wanted.groups) questions.push(ask('groups', name, { group }));
  for (const [key, values] of Object.entries(wanted.extra ?? {})) {
    for (const value of values) questions.push(ask('userextras', value, { subresource: key }));
  }
  return questions;
}

function impersonated(mode: Mode, wanted: UserInfo): UserInfo {
  const user = { ...wanted };
  const serviceAccount = parseServiceAccountUsername(wanted.username);
  if (wanted.groups.length === 0) {
    if (serviceAccount !== undefined) user.groups = serviceAccountGroups(serviceAccount.namespace);
    else if (mode.name.endsWith('-node')) user.groups = [NODES];
  }
  if (user.username !== ANONYMOUS) return authenticated(user);
  return user.groups.includes(UNAUTHENTICATED)
    ? user
    : { ...user, groups: [...user.groups, UNAUTHENTICATED] };
}

function readHeaders(request: Request): UserInfo | undefined {
  const names = Object.keys(request.headers).filter((header) => header.startsWith(PREFIX));
  if (names.length === 0) return undefined;
  // A group or an extra value can contain a comma, so the headers must not be joined.
  const distinct = request.headersDistinct;
  const uid = distinct['impersonate-uid']?.[0];
  const extra: Record<string, string[]> = {};
  for (const header of names.filter((name) => name.startsWith(EXTRA_PREFIX))) {
    const key = unescapeKey(header.slice(EXTRA_PREFIX.length));
    setField(extra, key, [...(ownField(extra, key) ?? []), ...(distinct[header] ?? [])]);
  }
  const wanted: UserInfo = {
    username: distinct['impersonate-user']?.[0] ?? '',
    ...(uid ? { uid } : {}),
    groups: distinct['impersonate-group'] ?? [],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  if (wanted.username !== '') return wanted;
  if (onlyUsername(wanted)) return undefined;
  throw badRequest(`requested ${printUser(wanted)} without impersonating a user name`);
}

/** Malformed escapes are kept unchanged. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** kube-apiserver prints its Go value here. */
function printUser(user: UserInfo): string {
  const list = (values: string[]): string => `[]string{${values.map((v) => JSON.stringify(v)).join(', ')}}`;
  const groups = user.groups.length === 0 ? '[]string(nil)' : list(user.groups);
  const entries = Object.entries(user.extra ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const extra =
    entries.length === 0
      ? 'map[string][]string(nil)'
      : `map[string][]string{${entries.map(([k, v]) => `${JSON.stringify(k)}:${list(v)}`).join(', ')}}`;
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(user.uid ?? '')}, Groups:${groups}, Extra:${extra}}`;
}
