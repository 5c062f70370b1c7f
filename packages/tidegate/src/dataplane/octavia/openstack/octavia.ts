import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { OpenStackError } from './errors.ts';
import type { Session } from './session.ts';

/** The plural of a kind in paths, and the names of objects and lists in bodies. */
const KINDS = {
  loadbalancers: 'loadbalancer',
  listeners: 'listener',
  pools: 'pool',
  l7policies: 'l7policy',
  healthmonitors: 'healthmonitor',
} as const;

export type OctaviaKind = keyof typeof KINDS;

/** An object of Octavia. `provisioning_status` is ACTIVE, ERROR or PENDING_...; others have the fields of its kind. */
export interface OctaviaObject extends JsonMap {
  readonly id: string;
  readonly provisioning_status: string;
}

type Query = Readonly<Record<string, string>>;

const BASE = '/v2/lbaas';
const PAGE = 1000;

/** The API of Octavia, version 2. Writes only record what is to be done: the status of the object shows the result. */
export class Octavia {
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /**
   * Lists are the way to read one object too, with its ID: for a GET of the object itself, Octavia reads and converts everything
   * that its load balancer has, and with a thousand rules that takes many seconds.
   */
  list(kind: OctaviaKind, query: Query = {}, signal?: AbortSignal): Promise<OctaviaObject[]> {
    return this.#list(`/${kind}`, kind, query, signal);
  }

  members(pool: string, signal?: AbortSignal): Promise<OctaviaObject[]> {
    return this.#list(`/pools/${pool}/members`, 'members', {}, signal);
  }

  rules(policy: string, signal?: AbortSignal): Promise<OctaviaObject[]> {
    return this.#list(`/l7policies/${policy}/rules`, 'rules', {}, signal);
  }

  create(kind: OctaviaKind, body: JsonMap, signal?: AbortSignal): Promise<OctaviaObject> {
    return this.#one('POST', `/${kind}`, KINDS[kind], body, signal);
  }

  update(kind: OctaviaKind, id: string, body: JsonMap, signal?: AbortSignal): Promise<OctaviaObject> {
    return this.#one('PUT', `/${kind}/${id}`, KINDS[kind], body, signal);
  }

  createRule(policy: string, rule: object, signal?: AbortSignal): Promise<OctaviaObject> {
    return this.#one('POST', `/l7policies/${policy}/rules`, 'rule', { ...rule }, signal);
  }

  /** Replaces all members of a pool. */
  async setMembers(pool: string, members: readonly object[], signal?: AbortSignal): Promise<void> {
    const call = { method: 'PUT', path: `${BASE}/pools/${pool}/members`, body: { members } } as const;
    await this.session.call('load-balancer', call, signal);
  }

  async delete(kind: OctaviaKind, id: string, query: Query = {}, signal?: AbortSignal): Promise<void> {
    await this.session.call(
      'load-balancer',
      { method: 'DELETE', path: `${BASE}/${kind}/${id}`, query },
      signal,
    );
  }

  /** Replaces the machines of a load balancer. Its address stays. By default, only administrators may do it. */
  async failover(id: string, signal?: AbortSignal): Promise<void> {
    const path = `${BASE}/loadbalancers/${id}/failover`;
    await this.session.call('load-balancer', { method: 'PUT', path }, signal);
  }

  /** The members of all pools that a listener uses, in one call. They have no weight. */
  async statusTree(id: string, signal?: AbortSignal): Promise<JsonMap> {
    const path = `${BASE}/loadbalancers/${id}/status`;
    const { statuses } = await this.session.call('load-balancer', { method: 'GET', path }, signal);
    return isJsonMap(statuses) && isJsonMap(statuses.loadbalancer) ? statuses.loadbalancer : {};
  }

  async #list(path: string, field: string, query: Query, signal?: AbortSignal): Promise<OctaviaObject[]> {
    const all: OctaviaObject[] = [];
    for (let marker = ''; ; ) {
      const page = { ...query, limit: `${PAGE}`, ...(marker !== '' && { marker }) };
      const call = { method: 'GET', path: `${BASE}${path}`, query: page } as const;
      const { [field]: list } = await this.session.call('load-balancer', call, signal);
      if (!Array.isArray(list)) throw unexpected('GET', path, field);
      all.push(...(list as OctaviaObject[]));
      if (list.length < PAGE) return all;
      marker = `${(list.at(-1) as OctaviaObject).id}`;
    }
  }

  async #one(
    method: 'POST' | 'PUT',
    path: string,
    field: string,
    body: JsonMap,
    signal?: AbortSignal,
  ): Promise<OctaviaObject> {
    const call = { method, path: `${BASE}${path}`, body: { [field]: body } };
    const { [field]: object } = await this.session.call('load-balancer', call, signal);
    if (!isJsonMap(object) || typeof object.id !== 'string') throw unexpected(method, path, field);
    return object as OctaviaObject;
  }
}

const unexpected = (method: string, path: string, field: string): OpenStackError =>
  new OpenStackError(`load-balancer: ${method} ${path}: the response has no ${field}`, {
    status: 200,
    kind: 'unavailable',
  });

export const textIn = (object: JsonMap, field: string): string => {
  const value = object[field];
  return typeof value === 'string' ? value : '';
};

export const tagsIn = ({ tags }: JsonMap): string[] => (Array.isArray(tags) ? tags.map(String) : []);

export const idsIn = (object: JsonMap, field: string): string[] => {
  const list = object[field];
  return Array.isArray(list) ? list.flatMap((each) => (isJsonMap(each) ? [`${each.id}`] : [])) : [];
};
