import { keyOf } from '@tidegate/kube';
import { requestHost, wildcardOf } from '../../ingress/match/index.ts';
import { compilePattern, PatternError, runPattern } from '../../ingress/regex/index.ts';
import type { Answer, RequestFacts } from './answer.ts';
import { normalizedPath } from './nginx-path.ts';
import { annotationOf, type Location, type Server } from './nginx-servers.ts';
import type { RuleName } from './rules.ts';

/** Settings of the ConfigMap of ingress-nginx that its answers depend on. */
export interface NginxSettings {
  readonly sslRedirect: boolean;
}

/** What ingress-nginx does with a request, and the hidden rules that it applies. */
export interface NginxAnswer {
  readonly answer: Answer;
  readonly rules: readonly RuleName[];
}

const NOT_FOUND: Answer = { kind: 'status', status: 404 };

export function nginxAnswer(
  servers: ReadonlyMap<string, Server>,
  settings: NginxSettings,
  { host, target, secure }: RequestFacts,
): NginxAnswer {
  const name = requestHost(host);
  const path = normalizedPath(target);
  if (name === undefined || path === undefined) return { answer: { kind: 'status', status: 400 }, rules: [] };
  const server = servers.get(name) ?? servers.get(wildcardOf(name) ?? name) ?? servers.get('');
  const rules: RuleName[] = path === target.split('?', 1)[0] ? [] : ['normalization'];
  if (server === undefined) return { answer: NOT_FOUND, rules };
  const refusal = certificateAnswer(server, secure);
  if (refusal !== undefined) return { answer: refusal, rules };
  if (server.certificates !== undefined && !secure) rules.push('plainCertificates');
  if (server.host === '') rules.push('catchAll');
  const found = server.regexCause === undefined ? findLiteral(server, path) : findRegex(server, path);
  if (found === 'slash')
    return { answer: { kind: 'redirect', status: 301 }, rules: [...rules, 'trailingSlash'] };
  if (found === undefined) return { answer: NOT_FOUND, rules };
  return answerOf(found, server, settings, { path, secure }, rules);
}

/**
 * The client has no certificate. nginx checks that before it looks for a location, and only over HTTPS. The subject of no certificate is
 * empty, over plain HTTP too.
 */
function certificateAnswer({ certificates }: Server, secure: boolean): Answer | undefined {
  if (certificates === undefined) return undefined;
  const verify = annotationOf(certificates, 'auth-tls-verify-client') ?? 'on';
  if (secure && verify === 'on')
    return annotationOf(certificates, 'auth-tls-error-page') === undefined
      ? { kind: 'status', status: 400 }
      : { kind: 'redirect', status: 302 };
  return annotationOf(certificates, 'auth-tls-match-cn') === undefined
    ? undefined
    : { kind: 'status', status: 403 };
}

/** An exact location wins, then the longest text that the path begins with. */
function findLiteral({ locations }: Server, path: string): Location | 'slash' | undefined {
  const exact = locations.find((each) => each.type === 'Exact' && each.path === path);
  if (exact !== undefined) return exact;
  const same = locations.find((each) => each.type !== 'Exact' && each.path === path);
  if (same !== undefined) return same;
  if (locations.some((each) => each.path === `${path}/`)) return 'slash';
  // The longest comes first.
  return locations.find((each) => each.type !== 'Exact' && path.startsWith(each.path));
}

/** The first expression that matches wins. Expressions that are not understood match nothing here. */
function findRegex({ locations }: Server, path: string): Location | undefined {
  return locations.find(({ path: expression }) => matches(expression, path));
}

function matches(expression: string, path: string): boolean {
  try {
    return runPattern(compilePattern(expression, undefined, '^'), path) !== undefined;
  } catch (error) {
    if (error instanceof PatternError) return false;
    throw error;
  }
}

function answerOf(
  location: Location,
  server: Server,
  settings: NginxSettings,
  { path, secure }: { path: string; secure: boolean },
  rules: RuleName[],
): NginxAnswer {
  const { ingress, backend, written } = location;
  const key = keyOf(ingress);
  const has = (name: string): boolean => (annotationOf(ingress, name) ?? '') !== '';
  const redirect = (status: number): NginxAnswer => ({
    answer: { kind: 'redirect', status, ingress: key },
    rules,
  });
  if (server.regexCause !== undefined) rules.push('regexHost');
  if (written === undefined) rules.push('inheritedRoot');
  if (path === '/' && has('app-root')) return redirect(302);
  if (has('temporal-redirect')) return redirect(codeOf(annotationOf(ingress, 'temporal-redirect-code'), 302));
  if (has('permanent-redirect'))
    return redirect(codeOf(annotationOf(ingress, 'permanent-redirect-code'), 301));
  if (!secure && annotationOf(ingress, 'force-ssl-redirect') === 'true') return redirect(308);
  const sslRedirect = annotationOf(ingress, 'ssl-redirect') ?? `${settings.sslRedirect}`;
  if (!secure && server.hasTls && sslRedirect === 'true') {
    rules.push('sslRedirect');
    return redirect(308);
  }
  if (backend === undefined) return { answer: NOT_FOUND, rules };
  return { answer: { kind: 'backend', backend, ingress: key, path: written ?? '/' }, rules };
}

const codeOf = (written: string | undefined, otherwise: number): number =>
  /^30[0-8]$/.test(written ?? '') ? Number(written) : otherwise;
