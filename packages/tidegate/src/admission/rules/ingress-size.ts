import type { Ingress } from '@tidegate/kube';
import { NGINX_PREFIX } from '../../ingress/nginx-annotations/index.ts';

/**
 * What a rule does with an Ingress costs time for each host and each path, far more than reading their few bytes. The API
 * server does not limit their number. A router is not limited either, but no other request waits for it.
 */
export const MOST_HOSTS = 1_000;
export const MOST_ENTRIES = 5_000;
/** Each wildcard above a host is looked up, so a host with many labels counts as several. */
const LABELS_PER_HOST = 8;

const ALIASES = `${NGINX_PREFIX}server-alias`;

export interface IngressSize {
  /** Different hosts, also in `tls` and aliases. */
  readonly hosts: number;
  /** Rules, paths, and entries and hosts in `tls`. */
  readonly entries: number;
}

/** Counts entries without reading them, and hosts only if there are not too many entries. */
export function sizeOf({ spec, metadata }: Partial<Pick<Ingress, 'spec' | 'metadata'>>): IngressSize {
  const { rules = [], tls = [] } = spec ?? {};
  let entries = rules.length + tls.length;
  for (const { http } of rules) entries += http?.paths?.length ?? 0;
  for (const { hosts } of tls) entries += hosts?.length ?? 0;
  const aliases = metadata?.annotations?.[ALIASES]?.split(',') ?? [];
  if (entries > MOST_ENTRIES) return { hosts: 0, entries };
  const named = new Set([
    ...rules.map(({ host = '' }) => host),
    ...tls.flatMap(({ hosts = [] }) => hosts),
    ...aliases.map((alias) => alias.trim()),
  ]);
  let hosts = 0;
  for (const host of named) hosts += Math.ceil(host.split('.').length / LABELS_PER_HOST);
  return { hosts, entries };
}

/** What exceeds the limits. Undefined if nothing does. */
export function excessOf({ hosts, entries }: IngressSize): string | undefined {
  if (hosts > MOST_HOSTS) return `the Ingress has ${hosts} hosts, the limit is ${MOST_HOSTS}`;
  if (entries > MOST_ENTRIES)
    return `the Ingress has ${entries} rules, paths and entries in tls, the limit is ${MOST_ENTRIES}`;
  return undefined;
}
