/** The subresource `nodes/proxy`: the HTTP API of the kubelet, for example its health checks and metrics. */
import type { Connect } from '../resources/types.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { relayBody } from './relay.ts';

export const nodeProxy =
  (kubelets: KubeletClient): Connect =>
  async ({ parent, subpath, query, exchange, signal }) => {
    const nodeName = parent.metadata.name ?? '';
    const answer = await kubelets.open(nodeName, { method: 'GET', path: `/${subpath}`, query, signal });
    exchange.head(answer.statusCode ?? 502, answer.headers['content-type'] ?? 'text/plain');
    await relayBody(answer, exchange, signal);
  };
