import { isDeepStrictEqual } from 'node:util';
import { compareMembers, memberText } from './members.ts';
import { compareKeys, keyText, rulesOf } from './policy-key.ts';
import {
  type Backend,
  type BackendId,
  type HealthMonitor,
  type ListenerName,
  type Member,
  NOT_FOUND_BACKEND,
  type Observed,
  type ObservedListener,
  type ObservedPolicy,
  type Policy,
  type Wanted,
  type WantedListener,
} from './state.ts';
import type { Step } from './step.ts';

/**
 * The calls that lead from what exists to what is wanted, in an order in which every request gets, after each single
 * call, either the answer of before or the answer of after:
 *
 *   1. Pools with members, before a policy uses them. The listener does not change while they are made.
 *   2. New policies, the most specific first. A request never reaches a new policy that a more specific new one will
 *      cover: that one is already there. A policy with several rules is enabled when it has all of them.
 *   3. New targets of policies that stay. All new policies are there, so what reaches such a policy now will reach it at
 *      the end.
 *   4. Unused policies are deleted, the least specific first. What reached a deleted policy now reaches a policy that
 *      stays, because less specific ones that do not stay are gone.
 *   5. Pools and certificates that nothing uses any more.
 *
 * A new listener is enabled last, when it has all policies. Policies never move: see `compareKeys`.
 */
export function plan(observed: Observed, wanted: Wanted): Step[] {
  const listeners = listenersByName(observed);
  const stored = new Set(observed.certificates);
  return [
    ...[...wanted.certificates]
      .filter((certificate) => !stored.has(certificate))
      .map((certificate): Step => ({ kind: 'storeCertificate', certificate })),
    ...backendSteps(observed, wanted),
    ...[...wanted.listeners].flatMap(([name, listener]) =>
      listenerSteps(name, listener, listeners.get(name)),
    ),
    ...uselessListeners(observed, wanted, listeners),
    ...uselessBackends(observed, wanted),
    ...observed.certificates
      .filter((certificate) => !wanted.certificates.has(certificate))
      .map((certificate): Step => ({ kind: 'deleteCertificate', certificate })),
  ];
}

/** Two objects with the same meaning are left over from a lost answer. The first is used, the others are deleted. */
function firstBy<K, V>(values: readonly V[], keyOf: (value: V) => K | undefined): Map<K, V> {
  const first = new Map<K, V>();
  for (const value of values) {
    const key = keyOf(value);
    if (key !== undefined && !first.has(key)) first.set(key, value);
  }
  return first;
}

const listenersByName = ({ listeners }: Observed): Map<ListenerName, ObservedListener> =>
  firstBy(listeners, ({ name }) => name);

function backendSteps(observed: Observed, wanted: Wanted): Step[] {
  const existing = firstBy(observed.backends, ({ id }) => id);
  return [...wanted.backends.values()].flatMap(({ members, monitor, ...backend }): Step[] => {
    const { id } = backend;
    const before = existing.get(id);
    const steps: Step[] = [];
    if (before === undefined) steps.push({ kind: 'createBackend', backend });
    else if (differs(before, backend))
      steps.push({ kind: 'updateBackend', ...without(backend), backend: id });
    if (!sameMembers(before?.members ?? [], members))
      steps.push({ kind: 'setMembers', backend: id, members });
    return [...steps, ...monitorSteps(id, before?.monitor, monitor)];
  });
}

const without = ({ name, algorithm, tls }: Pick<Backend, 'name' | 'algorithm' | 'tls'>) => ({
  name,
  algorithm,
  tls,
});
const differs = (a: Pick<Backend, 'name' | 'algorithm' | 'tls'>, b: typeof a): boolean =>
  !isDeepStrictEqual(without(a), without(b));

/** Weights and addresses, in any order. */
function sameMembers(a: readonly Member[], b: readonly Member[]): boolean {
  const text = (member: Member): string => `${memberText(member)} ${member.weight}`;
  return isDeepStrictEqual(a.toSorted(compareMembers).map(text), b.toSorted(compareMembers).map(text));
}

/** A pool has at most one monitor, so another one replaces it. Without a monitor, all members get requests. */
function monitorSteps(
  backend: BackendId,
  before: (HealthMonitor & { monitorId: string }) | undefined,
  monitor: HealthMonitor | undefined,
): Step[] {
  const { monitorId, ...existing } = before ?? { monitorId: '' };
  if (before === undefined ? monitor === undefined : isDeepStrictEqual(existing, monitor)) return [];
  return [
    ...(before === undefined ? [] : [{ kind: 'deleteMonitor' as const, backend, id: monitorId }]),
    ...(monitor === undefined ? [] : [{ kind: 'createMonitor' as const, backend, monitor }]),
  ];
}

function listenerSteps(
  listener: ListenerName,
  { settings, certificates, policies }: WantedListener,
  before: ObservedListener | undefined,
): Step[] {
  const isServing = before?.enabled ?? false;
  const steps: Step[] = [];
  if (before === undefined)
    steps.push({ kind: 'createListener', listener, settings, ...(certificates && { certificates }) });
  steps.push(...policySteps(listener, policies, before?.policies ?? [], isServing));
  const change = {
    ...(before !== undefined && !isDeepStrictEqual(before.settings, settings) && { settings }),
    ...(before !== undefined &&
      certificates !== undefined &&
      !isDeepStrictEqual(before.certificates, certificates) && { certificates }),
    ...(before !== undefined && before.fallback !== NOT_FOUND_BACKEND && { fallback: NOT_FOUND_BACKEND }),
    ...(!isServing && { enabled: true }),
  };
  if (Object.keys(change).length > 0) steps.push({ kind: 'updateListener', listener, ...change });
  return steps;
}

function policySteps(
  listener: ListenerName,
  wanted: readonly Policy[],
  before: readonly ObservedPolicy[],
  isServing: boolean,
): Step[] {
  const isWanted = new Map(wanted.map((policy) => [keyText(policy.key), policy]));
  const existing = firstBy(inOrder(before), ({ key }) => key && keyText(key));
  const kept = new Set([...existing].filter(([text]) => isWanted.has(text)).map(([, policy]) => policy));
  const order = [...before];
  const inserts = wanted.flatMap(({ key, target }): Step[] => {
    const found = existing.get(keyText(key));
    if (found !== undefined) return completionSteps(listener, key, target, found, isServing);
    const rules = rulesOf(key) ?? [];
    // While a listener does not serve, and without rules, a policy has no effect.
    const enabled = !isServing || rules.length === 1;
    const position = positionFor(order, key);
    order.splice(position - 1, 0, { policy: '', key, target, enabled, rules: rules.length });
    return [
      { kind: 'createPolicy', listener, key, target, position, enabled },
      ...rules.map((rule): Step => ({ kind: 'createRule', listener, key, rule })),
      ...(enabled ? [] : [{ kind: 'updatePolicy' as const, listener, key, enabled: true }]),
    ];
  });
  const updates = [...kept].flatMap(({ key, target, enabled, rules }): Step[] => {
    const next = key && isWanted.get(keyText(key));
    // The rest of an interrupted creation has set the target already.
    if (next === undefined || isIncomplete(next.key, rules, enabled)) return [];
    if (isDeepStrictEqual(target, next.target)) return [];
    return [{ kind: 'updatePolicy', listener, key: next.key, target: next.target }];
  });
  const deletions = before
    .filter((policy) => !kept.has(policy))
    .toReversed()
    .map(({ policy, key }): Step => ({ kind: 'deletePolicy', listener, key, id: policy }));
  return [...inserts, ...updates, ...deletions];
}

/** Without policies that another program has moved. They are created again, and then deleted. */
function inOrder(policies: readonly ObservedPolicy[]): ObservedPolicy[] {
  const ordered: ObservedPolicy[] = [];
  for (const policy of policies) {
    const last = ordered.at(-1)?.key;
    if (policy.key !== undefined && (last === undefined || compareKeys(last, policy.key) < 0))
      ordered.push(policy);
  }
  return ordered;
}

/** The position of a new policy: before the first policy that comes after it. Policies of other programs come last. */
function positionFor(order: readonly ObservedPolicy[], key: Policy['key']): number {
  const next = order.findIndex((policy) => policy.key === undefined || compareKeys(policy.key, key) > 0);
  return (next < 0 ? order.length : next) + 1;
}

const isIncomplete = (key: Policy['key'], rules: ObservedPolicy['rules'], enabled: boolean): boolean =>
  !enabled || (typeof rules === 'number' ? rules : rules.length) < (rulesOf(key) ?? []).length;

/** The rest of a policy whose creation was interrupted. */
function completionSteps(
  listener: ListenerName,
  key: Policy['key'],
  target: Policy['target'],
  { rules, enabled, target: before }: ObservedPolicy,
  isServing: boolean,
): Step[] {
  const all = rulesOf(key) ?? [];
  if (!isIncomplete(key, rules, enabled)) return [];
  const has = (rule: (typeof all)[number]): boolean =>
    typeof rules !== 'number' && rules.some((each) => isDeepStrictEqual(each, rule));
  const missing = all.filter((rule) => !has(rule));
  // A policy with some of its rules answers for too many requests.
  const isLive = enabled && isServing && all.length > 1;
  const first = { ...(isLive && { enabled: false }), ...(!isDeepStrictEqual(before, target) && { target }) };
  return [
    ...(Object.keys(first).length === 0 ? [] : [{ kind: 'updatePolicy' as const, listener, key, ...first }]),
    ...missing.map((rule): Step => ({ kind: 'createRule', listener, key, rule })),
    ...(enabled && !isLive ? [] : [{ kind: 'updatePolicy' as const, listener, key, enabled: true }]),
  ];
}

function uselessListeners(
  { listeners }: Observed,
  wanted: Wanted,
  used: ReadonlyMap<ListenerName, ObservedListener>,
): Step[] {
  return listeners
    .filter(
      (each) => each.name === undefined || !wanted.listeners.has(each.name) || used.get(each.name) !== each,
    )
    .map(({ listener, name }) => ({
      kind: 'deleteListener',
      name: name ?? 'of another program',
      id: listener,
    }));
}

function uselessBackends({ backends }: Observed, wanted: Wanted): Step[] {
  const used = firstBy(backends, ({ id }) => id);
  return backends
    .filter((each) => !wanted.backends.has(each.id) || used.get(each.id) !== each)
    .map(({ id, pool }) => ({ kind: 'deleteBackend', backend: id, id: pool }));
}
