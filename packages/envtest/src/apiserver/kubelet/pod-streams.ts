/**
 * The subresources `pods/exec`, `pods/attach` and `pods/portforward`. The request to the node does not upgrade the
 * protocol: the nodes of the embedded cluster do not support streams and answer with an error.
 */
import { ApiError, badRequest } from '@tidegate/serving';
import type { Pod } from '../resources/pod/types.ts';
import type { Connect } from '../resources/types.ts';
import { chooseContainer } from './container.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { failureText, isSuccess, relayBody } from './relay.ts';

/** Parameters of the API and their names in the kubelet. */
const FLAGS = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
] as const;

export const podStream =
  (kubelets: KubeletClient, action: 'exec' | 'attach' | 'portForward'): Connect =>
  async ({ parent, query, exchange, signal }) => {
    const pod = parent as Pod;
    const { namespace, name } = pod.metadata;
    const container =
      action === 'portForward' ? '' : `/${chooseContainer(pod, query.get('container') ?? '')}`;
    const nodeName = pod.spec.nodeName ?? '';
    if (nodeName === '') throw badRequest(`pod ${name} does not have a host assigned`);
    if (exchange.request.headers.upgrade === undefined) throw badRequest('Upgrade request required');
    const answer = await kubelets.open(nodeName, {
      method: 'POST',
      path: `/${action}/${namespace}/${name}${container}`,
      query: kubeletQuery(query),
      signal,
    });
    if (!isSuccess(answer)) throw new ApiError(answer.statusCode ?? 500, '', await failureText(answer));
    exchange.head(200, answer.headers['content-type'] ?? 'text/plain');
    await relayBody(answer, exchange, signal);
  };

function kubeletQuery(query: URLSearchParams): URLSearchParams {
  const wanted = new URLSearchParams();
  for (const word of query.getAll('command')) wanted.append('command', word);
  for (const [name, kubeletName] of FLAGS) {
    if (['1', 'true'].includes(query.get(name) ?? '')) wanted.set(kubeletName, '1');
  }
  return wanted;
}
