/** The subresource `nodes/proxy`: the HTTP API of the kubelet, for example its health checks and metrics. */
import { badRequest } from '@tidegate/serving';
import type { Node } from '../resources/core/types.ts';
import type { Connect, ConnectRequest } from '../resources/types.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { relayBody } from './relay.ts';

export const nodeProxy =
  (kubelets: KubeletClient): Connect =>
  async ({ parent, target, subpath, query, exchange, signal }) => {
    const nodeName = parent.metadata.name ?? '';
    checkTarget(target, kubelets.portOf(parent as Node), nodeName);
    const answer = await kubelets.open(nodeName, { method: 'GET', path: `/${subpath}`, query, signal });
    exchange.head(answer.statusCode ?? 502, answer.headers['content-type'] ?? 'text/plain');
    await relayBody(answer, exchange, signal);
  };

/** Other ports of a node belong to programs that the API server has no credentials for, and no reason to trust. */
function checkTarget({ scheme, port }: ConnectRequest['target'], kubeletPort: number, node: string): void {
  if (scheme === 'http')
    throw badRequest(`the kubelet of node ${JSON.stringify(node)} only accepts https, not http`);
  if (port !== '' && port !== String(kubeletPort)) {
    throw badRequest(
      `port ${port} of node ${JSON.stringify(node)} cannot be reached through the API server: only that of its kubelet, ${kubeletPort}`,
    );
  }
}
