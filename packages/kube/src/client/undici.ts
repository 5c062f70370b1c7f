/**
 * `@tidegate/kube/undici`: the parts of undici that are in use. The index of undici loads all of its other parts as well,
 * fetch and WebSocket among them: 6 MB of memory in every program, on devices that have little. The files are private to
 * undici, so its version is pinned, and undici.test.ts fails if a version does not have them.
 *
 * The exports have the public types of undici, so that programs compile without declarations of the private files.
 */

import type * as undici from 'undici';
import type { Dispatcher as DispatcherType, Pool as PoolType, ProxyAgent as ProxyAgentType } from 'undici';
import verbs from 'undici/lib/api/index.js';
import privateErrors from 'undici/lib/core/errors.js';
import PrivateDispatcher from 'undici/lib/dispatcher/dispatcher.js';
import PrivatePool from 'undici/lib/dispatcher/pool.js';
import PrivateProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';

export type Dispatcher = DispatcherType;
export type Pool = PoolType;
export type ProxyAgent = ProxyAgentType;

export const errors: typeof undici.errors = privateErrors;
export const Dispatcher: typeof undici.Dispatcher = PrivateDispatcher;
export const Pool: typeof undici.Pool = PrivatePool;
export const ProxyAgent: typeof undici.ProxyAgent = PrivateProxyAgent;

// The index of undici does the same. Without it, dispatchers have neither `request` nor `upgrade`.
Object.assign(PrivateDispatcher.prototype, verbs);

type RequestOptions = Omit<DispatcherType.RequestOptions, 'origin' | 'path'> & { dispatcher: DispatcherType };

export function request(
  url: string,
  { dispatcher, ...options }: RequestOptions,
): Promise<DispatcherType.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, origin, path: pathname + search });
}
