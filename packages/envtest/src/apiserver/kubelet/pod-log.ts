/** The subresource `pods/log`: streams the log of a container from its node. */
import type { Pod } from '../resources/pod/types.ts';
import type { Connect } from '../resources/types.ts';
import { chooseContainer } from './container.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { kubeletLogQuery } from './log-options.ts';
import { isSuccess, logFailure, relayBody } from './relay.ts';

export const podLog =
  (kubelets: KubeletClient): Connect =>
  async ({ parent, query, exchange, signal }) => {
    const pod = parent as Pod;
    const { namespace = '', name = '' } = pod.metadata;
    const kubeletQuery = kubeletLogQuery(name, query);
    const container = chooseContainer(pod, query.get('container') ?? '');
    const nodeName = pod.spec.nodeName ?? '';
    if (nodeName === '') {
      // No container has run yet, so there is nothing to read.
      exchange.response.writeHead(204).end();
      return;
    }
    const path = `/containerLogs/${namespace}/${name}/${container}`;
    const answer = await kubelets.open(nodeName, { method: 'GET', path, query: kubeletQuery, signal });
    if (!isSuccess(answer)) throw await logFailure(answer, name);
    exchange.head(200, 'text/plain');
    await relayBody(answer, exchange, signal);
  };
