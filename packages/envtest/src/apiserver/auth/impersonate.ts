/**
 * `kubectl --as`: acting as somebody else, when allowed to. Since 1.36 there are several modes. The constrained ones
 * ask two questions: may the requestor do *this* (`impersonate-on:<mode>:<verb>`) while acting as somebody, and may it
 * act as *them* (`impersonate:<mode>`)? The oldest mode asks the second only, with the plain verb `impersonate`.
 */
import type { IncomingMessage } from 'node:http';
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

/** The user that the request is to be carried out as. Throws 403 or 400 with the real server's words. */
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
  /** '' is the oldest, unconstrained one. */
  name: string;
  suits(wanted: UserInfo, requestor: UserInfo): boolean;
}

const onlyUsername = (user: UserInfo): boolean =>
  user.uid === undefined && user.groups.length === 0 && user.extra === undefined;

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
  questions.push(...whomQuestions(mode, wanted));
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

/** One question for each thing that the requestor wants to be. */
function whomQuestions(mode: Mode, wanted: UserInfo): ResourceAttributes[] {
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
    // A service account on some node may act as "the node I am on": whichever that is.
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
  // A group or an extra value may hold a comma: only the distinct values are safe to use.
  const distinct = request.headersDistinct;
  const uid = distinct['impersonate-uid']?.[0];
  const extra: Record<string, string[]> = {};
  for (const header of names.filter((name) => name.startsWith(EXTRA_PREFIX))) {
    const key = unescapeKey(header.slice(EXTRA_PREFIX.length));
    extra[key] = [...(extra[key] ?? []), ...(distinct[header] ?? [])];
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

/** Malformed escapes are taken as they stand. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The real server prints its Go value here. */
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
