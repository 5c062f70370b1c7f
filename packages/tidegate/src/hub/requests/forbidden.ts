import type { Views } from '../views/index.ts';
import { type Call, impersonates, namespaceOf, type ResourceCall, resourceOf } from './call.ts';

const READ_VERBS = new Set(['get', 'list', 'watch']);

/**
 * Deletes the copies of the client that could answer the request, after the API server has answered it with 403. A 403
 * for a write or a subresource says nothing about reads, and one for an impersonated user concerns another identity.
 */
export async function forgetForbidden(call: Call, views: Pick<Views, 'forbid'>): Promise<void> {
  const { info, identity, exchange } = call;
  if (info.type !== 'resource' || info.subresource !== '' || !READ_VERBS.has(info.verb)) return;
  if (impersonates(exchange.request.headers)) return;
  const { info: read } = call as ResourceCall;
  await views.forbid(identity.key, resourceOf(read), namespaceOf(read), read.name);
}
