/**
 * LimitRanger: sets the default requests and limits of containers, and rejects pods and claims with amounts that a
 * LimitRange of their namespace does not allow.
 */
import { formatQuantity, ownField, parseQuantity } from '@tidegate/kube';
import { type Amounts, parseAmounts, podAmounts } from '../../amounts/index.ts';
import type { AdmissionAttributes } from '../operations/core.ts';
import { refusal } from '../operations/refusal.ts';
import type { Container, Pod } from '../resources/pod/types.ts';
import type { LimitRange, LimitRangeItem } from '../resources/quota/types.ts';
import type { PersistentVolumeClaim } from '../resources/storage/types.ts';
import type { ResourceList } from '../resources/validation/resource-names.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

export function limitRanges(store: Store): { mutate: Plugin; validate: Plugin } {
  const itemsOf = ({ namespace }: AdmissionAttributes): LimitRangeItem[] =>
    store
      .list('limitranges', { namespace })
      .entries.flatMap((entry) => (decodeStored(entry) as LimitRange).spec.limits ?? []);
  return {
    mutate(attributes) {
      if (kindOf(attributes) !== 'pod') return;
      const items = itemsOf(attributes).filter(({ type }) => type === 'Container');
      if (items.length > 0) setDefaults(attributes.object as unknown as Pod, items);
    },
    validate(attributes) {
      const kind = kindOf(attributes);
      if (kind === undefined) return;
      const items = itemsOf(attributes);
      const problems =
        kind === 'pod'
          ? podProblems(attributes.object as unknown as Pod, items)
          : claimProblems(attributes.object as PersistentVolumeClaim, items);
      if (problems.length === 0) return;
      throw refusal(attributes, problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`);
    },
  };
}

/** Limits apply to new pods and to new and changed claims. */
function kindOf({
  operation,
  subresource,
  served,
  object,
}: AdmissionAttributes): 'pod' | 'claim' | undefined {
  if (subresource !== '' || object === undefined || operation === 'DELETE') return undefined;
  const { storage } = served.definition;
  if (storage === 'pods') return operation === 'CREATE' ? 'pod' : undefined;
  return storage === 'persistentvolumeclaims' ? 'claim' : undefined;
}

function setDefaults(pod: Pod, items: LimitRangeItem[]): void {
  const limits = Object.assign({}, ...items.map((item) => item.default)) as ResourceList;
  const requests = Object.assign({}, ...items.map((item) => item.defaultRequest)) as ResourceList;
  const notes = [
    ...(pod.spec.containers ?? []).flatMap((container) => merge(container, 'container', requests, limits)),
    ...(pod.spec.initContainers ?? []).flatMap((container) =>
      merge(container, 'init container', requests, limits),
    ),
  ];
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

/** Returns what was set, for example `cpu, memory request for container web`. */
function merge(container: Container, what: string, requests: ResourceList, limits: ResourceList): string[] {
  container.resources ??= {};
  const { resources } = container;
  return (['requests', 'limits'] as const).flatMap((side) => {
    const defaults = side === 'requests' ? requests : limits;
    const missing = Object.keys(defaults)
      .filter((name) => ownField(resources[side], name) === undefined)
      .sort();
    if (missing.length === 0) return [];
    const added = Object.fromEntries(missing.map((name) => [name, ownField(defaults, name) ?? '0']));
    resources[side] = { ...resources[side], ...added };
    return [`${missing.join(', ')} ${side.slice(0, -1)} for ${what} ${container.name ?? ''}`];
  });
}

interface Sides {
  requests: ResourceList;
  limits: ResourceList;
}

function podProblems({ spec }: Pod, items: LimitRangeItem[]): string[] {
  const sidesOf = ({ resources = {} }: Container): Sides => ({
    requests: resources.requests ?? {},
    limits: resources.limits ?? {},
  });
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(sidesOf);
  const whole = {
    requests: listOf(podAmounts(spec, 'requests')),
    limits: listOf(podAmounts(spec, 'limits')),
  };
  return items.flatMap((item) => {
    const checked = item.type === 'Container' ? containers : item.type === 'Pod' ? [whole] : [];
    return checked.flatMap((sides) => [
      ...each(item.min, (name, value) => belowMinimum(item, name, value, sides)),
      ...each(item.max, (name, value) => aboveMaximum(item, name, value, sides)),
      ...each(item.maxLimitRequestRatio, (name, value) => aboveRatio(item, name, value, sides)),
    ]);
  });
}

/** Claims have requests only. */
function claimProblems({ spec }: PersistentVolumeClaim, items: LimitRangeItem[]): string[] {
  const requests = spec.resources?.requests ?? {};
  return items
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap((item) => [
      ...each(item.min, (name, value) => belowMinimum(item, name, value, { requests, limits: {} })),
      ...each(item.max, (name, value) => {
        const rule = `maximum ${name} usage per ${item.type} is ${value}`;
        const request = ownField(requests, name);
        if (request === undefined) return `${rule}.  No request is specified`;
        return isMore(request, value) ? `${rule}, but request is ${request}` : undefined;
      }),
    ]);
}

const each = (
  list: ResourceList | undefined,
  check: (name: string, value: string) => string | undefined,
): string[] => Object.entries(list ?? {}).flatMap(([name, value]) => check(name, value) ?? []);

const nanosOf = (text: string): bigint => parseQuantity(String(text))?.nanos ?? 0n;
const isMore = (a: string, b: string): boolean => nanosOf(a) > nanosOf(b);

/** Sums have no written form of their own: memory is shown in binary units. */
const listOf = (amounts: Amounts): ResourceList =>
  Object.fromEntries(
    [...amounts].map(([name, nanos]) => [
      name,
      formatQuantity({ nanos, format: name === 'cpu' ? 'decimal' : 'binary' }),
    ]),
  );

function belowMinimum(item: LimitRangeItem, name: string, min: string, sides: Sides): string | undefined {
  const { requests, limits } = sides;
  const rule = `minimum ${name} usage per ${item.type} is ${min}`;
  const [request, limit] = [ownField(requests, name), ownField(limits, name)];
  if (request === undefined) return `${rule}.  No request is specified`;
  if (isMore(min, request)) return `${rule}, but request is ${request}`;
  return limit !== undefined && isMore(min, limit) ? `${rule}, but limit is ${limit}` : undefined;
}

function aboveMaximum(item: LimitRangeItem, name: string, max: string, sides: Sides): string | undefined {
  const { requests, limits } = sides;
  const rule = `maximum ${name} usage per ${item.type} is ${max}`;
  const [request, limit] = [ownField(requests, name), ownField(limits, name)];
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (isMore(limit, max)) return `${rule}, but limit is ${limit}`;
  return request !== undefined && isMore(request, max) ? `${rule}, but request is ${request}` : undefined;
}

function aboveRatio(item: LimitRangeItem, name: string, max: string, sides: Sides): string | undefined {
  const [request = 0n, limit = 0n] = [
    parseAmounts(sides.requests).get(name),
    parseAmounts(sides.limits).get(name),
  ];
  const rule = `${name} max limit to request ratio per ${item.type} is ${max}`;
  if (request === 0n) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0n) return `${rule}, but no limit is specified or limit is 0`;
  const ratio = Number(limit) / Number(request);
  return ratio > Number(nanosOf(max)) / 1e9
    ? `${rule}, but provided ratio is ${ratio.toFixed(6)}`
    : undefined;
}
