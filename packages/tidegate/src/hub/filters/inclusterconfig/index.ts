/**
 * Replaces the address of the API server in the kubeconfig of kube-proxy, which kubeadm stores in the ConfigMap
 * kube-system/kube-proxy. The kubelet mounts the ConfigMap, kube-proxy connects to the hub, and the filters for kube-proxy
 * take effect.
 */

import { type ConfigMap, keyOf, type Logger } from '@tidegate/kube';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { KUBELET_USER_AGENT } from '../../../api/index.ts';
import type { Filter } from '../filter.ts';
import { hubUrl } from '../kubernetes-service.ts';
import { CONFIG_MAP } from '../resources.ts';

const KUBE_PROXY_CONFIG_MAP = 'kube-system/kube-proxy';
/** A quick check before parsing. Other entries of the ConfigMap contain kube-proxy's own settings. */
const LOOKS_LIKE_KUBECONFIG = /\bkind["']?\s*:\s*["']?Config\b/;
/** Fields that describe the connection to the API server. The hub needs no proxy, and its certificate has its address. */
const CONNECTION_FIELDS = ['proxy-url', 'tls-server-name'];

export function inClusterConfig(log: Logger): Filter {
  /** An object is filtered often. Each problem is logged once. */
  const reported = new Set<string>();
  const report = (entry: string, why: string): void => {
    const problem = `${entry}: ${why}`;
    if (reported.has(problem)) return;
    reported.add(problem);
    log.warn(
      { configMap: KUBE_PROXY_CONFIG_MAP, entry, why },
      'cannot parse a kubeconfig in the ConfigMap of kube-proxy, so its server is not replaced with the hub; correct the YAML of this entry',
    );
  };
  return {
    name: 'inclusterconfig',
    components: [KUBELET_USER_AGENT],
    resources: CONFIG_MAP,
    apply(object, context) {
      if (keyOf(object) !== KUBE_PROXY_CONFIG_MAP) return object;
      const { data = {} } = object as ConfigMap;
      const server = hubUrl(context);
      const changed = Object.entries(data).flatMap(([entry, text]) => {
        const updated = withServer(server, text, (why) => report(entry, why));
        return updated === text ? [] : [[entry, updated]];
      });
      return changed.length === 0 ? object : { ...object, data: { ...data, ...Object.fromEntries(changed) } };
    },
  };
}

/** Replaces the server in a kubeconfig, and keeps comments and order. Returns any other text unchanged. */
function withServer(server: string, text: string, report: (why: string) => void): string {
  if (!LOOKS_LIKE_KUBECONFIG.test(text)) return text;
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    report(error.message.split('\n')[0]!);
    return text;
  }
  if (document.get('kind') !== 'Config') return text;
  const clusters = document.get('clusters');
  if (!isSeq(clusters)) return text;
  const changed = clusters.items.filter((item) => {
    const cluster = isMap(item) ? item.get('cluster') : undefined;
    return isMap(cluster) && setServer(cluster, server);
  });
  return changed.length === 0 ? text : document.toString({ lineWidth: 0 });
}

/** Returns whether anything changed. */
function setServer(cluster: YAMLMap, server: string): boolean {
  const removed = CONNECTION_FIELDS.filter((field) => cluster.delete(field));
  if (cluster.get('server') === server) return removed.length > 0;
  cluster.set('server', server);
  return true;
}
