/**
 * The parts of undici that are in use. Its index loads all the others too, and Node's own copy of itself on top: 6 MB in
 * every program, on devices that have few to spare.
 */
import type { Dispatcher as AnyDispatcher } from 'undici';
import verbs from 'undici/lib/api/index.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

export { default as errors } from 'undici/lib/core/errors.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';
export { Dispatcher };

// As the index does: without it dispatchers have neither `request` nor `upgrade`.
Object.assign(Dispatcher.prototype, verbs);

type RequestOptions = Omit<AnyDispatcher.RequestOptions, 'origin' | 'path'> & { dispatcher: AnyDispatcher };

export function request(
  url: string,
  { dispatcher, ...options }: RequestOptions,
): Promise<AnyDispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, origin, path: pathname + search });
}
