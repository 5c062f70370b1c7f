import { type Ingress, keyOf } from '@tidegate/kube';
import { answerText, isSameAnswer } from '../model/answer.ts';
import { ruleBehind } from '../model/explain.ts';
import { type NginxSettings, nginxAnswer } from '../model/nginx-answer.ts';
import { annotationOf, isCanary, type Server } from '../model/nginx-servers.ts';
import type { RuleName } from '../model/rules.ts';
import type { TidegateSide } from '../model/tidegate-side.ts';
import { requestsFor } from '../requests.ts';

/** A hidden rule of ingress-nginx that applies to a host. */
export interface RuleFinding {
  readonly rule: RuleName | 'unexplained';
  /** The Ingresses that the rule affects. */
  readonly ingresses: readonly string[];
  /** The paths that the rule affects, as written, each with its Ingress. */
  readonly paths: readonly string[];
  /** The Ingress that causes it, for rules in which one Ingress affects others. */
  readonly cause?: string;
  /** How many of the requests that were computed get another answer from Tidegate. 0: Tidegate does the same. */
  readonly differences: number;
  readonly examples: readonly { request: string; old: string; new: string }[];
}

export interface HostFinding {
  /** Empty: rules without a host. */
  readonly host: string;
  readonly rules: readonly RuleFinding[];
}

const MOST_EXAMPLES = 5;

type Draft = {
  -readonly [K in keyof RuleFinding]: RuleFinding[K] extends readonly (infer V)[] ? V[] : RuleFinding[K];
};

/** Computes the answers of both controllers to the same requests, and groups what differs by rule. Nothing is sent. */
export function hostFindings(
  ingresses: readonly Ingress[],
  servers: ReadonlyMap<string, Server>,
  settings: NginxSettings,
  tidegate: TidegateSide,
): HostFinding[] {
  const byHost = new Map<string, Map<RuleFinding['rule'], Draft>>();
  const draftOf = (host: string, rule: RuleFinding['rule']): Draft => {
    const rules = byHost.get(host) ?? new Map<RuleFinding['rule'], Draft>();
    byHost.set(host, rules);
    const draft = rules.get(rule) ?? { rule, ingresses: [], paths: [], differences: 0, examples: [] };
    rules.set(rule, draft);
    return draft;
  };
  for (const server of servers.values()) noteHost(server, ingresses, draftOf);
  for (const request of requestsFor(ingresses, { methods: ['GET'] })) {
    if (Object.keys(request.headers).length > 0) continue;
    const old = nginxAnswer(servers, settings, request);
    const now = tidegate.answer(request);
    if (isSameAnswer(old.answer, now)) continue;
    const rule = ruleBehind(request, old, now, tidegate) ?? 'unexplained';
    const draft = draftOf(request.host, rule);
    const [ingress = '', path] = request.from.split(', path ');
    addOnce(draft.ingresses, 'ingress' in old.answer ? (old.answer.ingress ?? ingress) : ingress);
    if (path !== undefined) addOnce(draft.paths, `${path} (${ingress})`);
    draft.differences++;
    const text = `${request.secure ? 'https' : 'http'}://${request.host}${request.target}`;
    if (draft.examples.length < MOST_EXAMPLES)
      draft.examples.push({ request: text, old: answerText(old.answer), new: answerText(now) });
  }
  return [...byHost]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([host, rules]) => ({ host, rules: [...rules.values()] }));
}

function addOnce(list: string[], value: string): void {
  if (!list.includes(value)) list.push(value);
}

/** Annotations of a whole host. */
const OF_HOST = [
  ...['server-alias', 'server-snippet', 'ssl-ciphers', 'ssl-prefer-server-ciphers', 'ssl-passthrough'],
  ...['auth-tls-secret', 'auth-tls-error-page', 'from-to-www-redirect', 'proxy-ssl-secret', 'app-root'],
];

/** Rules that apply whether or not Tidegate does the same. */
function noteHost(
  { host, locations, regexCause }: Server,
  ingresses: readonly Ingress[],
  draftOf: (host: string, rule: RuleName) => Draft,
): void {
  if (regexCause !== undefined) {
    const draft = draftOf(host, 'regexHost');
    draft.cause = keyOf(regexCause.ingress);
    for (const { ingress, written } of locations) {
      if (written === undefined) continue;
      addOnce(draft.ingresses, keyOf(ingress));
      addOnce(draft.paths, `${written} (${keyOf(ingress)})`);
    }
  }
  const own = ingresses.filter(
    (ingress) =>
      !isCanary(ingress) &&
      (ingress.spec?.rules ?? []).some(({ host: each = '' }) => each.toLowerCase() === host),
  );
  const oldest = own.find((ingress) => OF_HOST.some((name) => annotationOf(ingress, name) !== undefined));
  if (own.length < 2 || oldest === undefined) return;
  const draft = draftOf(host, 'oldestWins');
  draft.cause = keyOf(oldest);
  draft.ingresses.push(...own.map(keyOf));
  for (const ingress of own)
    for (const { host: each = '', http } of ingress.spec?.rules ?? [])
      if (each.toLowerCase() === host)
        for (const { path = '/' } of http?.paths ?? []) addOnce(draft.paths, `${path} (${keyOf(ingress)})`);
}
