import type { Observed, ObservedPolicy, Rule } from '../plan/index.ts';

export interface Asked {
  readonly host: string | undefined;
  readonly path: string;
  readonly secure: boolean;
}

/**
 * What a load balancer of Octavia answers: the pool and whether it has members, a redirect, or nothing if no listener is enabled. This follows the
 * configuration that Octavia renders for HAProxy: redirects first, then pools in the order of positions, then the
 * default pool. `test/octavia` compares with a real HAProxy.
 */
export function answerOf({ listeners, backends }: Observed, { host, path, secure }: Asked): string {
  const listener = listeners.find(({ name }) => name === (secure ? 'https' : 'http'));
  if (listener === undefined || !listener.enabled) return 'nothing';
  const target = (path.split('?')[0] ?? '') as string;
  const live = listener.policies.filter(
    ({ enabled, rules }) =>
      enabled && rulesIn(rules).length > 0 && rulesIn(rules).every((rule) => matches(rule, host, target)),
  );
  const isRedirect = (policy: ObservedPolicy): boolean =>
    policy.target !== undefined && 'redirectPrefix' in policy.target;
  const chosen = [...live.filter(isRedirect), ...live.filter((policy) => !isRedirect(policy))][0]?.target;
  if (chosen !== undefined && 'redirectPrefix' in chosen) return `redirect ${chosen.redirectPrefix}`;
  const id = chosen?.backend ?? listener.fallback ?? '';
  const backend = backends.find((each) => each.id === id);
  if (backend === undefined) return 'no pool';
  return backend.members.length === 0 ? `${id} (empty)` : id;
}

function rulesIn(rules: ObservedPolicy['rules']): readonly Rule[] {
  if (typeof rules === 'number') throw new Error('the rules of this policy were not read');
  return rules;
}

function matches({ type, compare_type, value }: Rule, host: string | undefined, path: string): boolean {
  if (type === 'HOST_NAME' && host === undefined) return false;
  const subject = type === 'HOST_NAME' ? (host ?? '').toLowerCase() : path;
  if (compare_type === 'REGEX') return new RegExp(value).test(subject);
  return compare_type === 'STARTS_WITH' ? subject.startsWith(value) : subject === value;
}
