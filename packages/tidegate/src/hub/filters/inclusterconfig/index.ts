/**
 * Kube-proxy reads from its ConfigMap where the API server is. With the hub's address there it talks to the hub, and
 * all that the hub shows to kube-proxy only can take effect.
 */

import { type ConfigMap, keyOf, type Logger } from '@tidegate/kube';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { KUBELET_USER_AGENT } from '../../../api/index.ts';
import type { Filter } from '../filter.ts';
import { hubUrl } from '../kubernetes-service.ts';
import { CONFIG_MAP } from '../resources.ts';

const KUBE_PROXY_CONFIG_MAP = 'kube-system/kube-proxy';
/** A cheap look before parsing: the other entries are kube-proxy's own settings. */
const LOOKS_LIKE_KUBECONFIG = /\bkind["']?\s*:\s*["']?Config\b/;
/** How the API server was reached; the hub is at hand and has a certificate for its address. */
const WAYS_TO_THE_SERVER = ['proxy-url', 'tls-server-name'];

export function inClusterConfig(log: Logger): Filter {
  const reported = new Set<string>();
  const report = (entry: string, why: string): void => {
    const problem = `${entry}: ${why}`;
    if (reported.has(problem)) return;
    reported.add(problem);
    log.warn(
      { configMap: KUBE_PROXY_CONFIG_MAP, entry, why },
      'a kubeconfig for kube-proxy can not be read and stays as it is; correct its YAML',
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
        const pointed = pointAt(server, text, (why) => report(entry, why));
        return pointed === text ? [] : [[entry, pointed]];
      });
      return changed.length === 0 ? object : { ...object, data: { ...data, ...Object.fromEntries(changed) } };
    },
  };
}

/** The kubeconfig with another server, its comments and order kept; any other text as it is. */
function pointAt(server: string, text: string, report: (why: string) => void): string {
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
    return isMap(cluster) && pointCluster(cluster, server);
  });
  return changed.length === 0 ? text : document.toString({ lineWidth: 0 });
}

/** Whether anything had to be changed. */
function pointCluster(cluster: YAMLMap, server: string): boolean {
  const removed = WAYS_TO_THE_SERVER.filter((field) => cluster.delete(field));
  if (cluster.get('server') === server) return removed.length > 0;
  cluster.set('server', server);
  return true;
}
