import type { Access } from '../access/index.ts';
import type { Views } from '../views/index.ts';
import { type Call, impersonates, namespaceOf, type ResourceCall, resourceOf } from './call.ts';

const READ_VERBS = new Set(['get', 'list', 'watch']);

/** Everything that can answer a read while no API server is reachable. */
export interface StoredAnswers {
  views: Pick<Views, 'forbid'>;
  access: Pick<Access, 'withdraw'>;
}

/**
 * Deletes what could answer the request for this client, after the API server has answered it with 403: the copies of the
 * client, and its permissions for shared views. A 403 for a write or a subresource says nothing about reads, and one for an
 * impersonated user concerns another identity.
 */
export async function forgetForbidden(call: Call, { views, access }: StoredAnswers): Promise<void> {
  const { info, identity, exchange } = call;
  if (info.type !== 'resource' || info.subresource !== '' || !READ_VERBS.has(info.verb)) return;
  if (impersonates(exchange.request.headers)) return;
  const { info: read } = call as ResourceCall;
  const namespace = namespaceOf(read);
  access.withdraw(identity.key, { ...read, namespace });
  await views.forbid(identity.key, resourceOf(read), namespace, read.name);
}
