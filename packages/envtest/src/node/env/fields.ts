import type { Pod } from '@tidegate/kube';

/** What is known here before it stands in the pod's status. */
export interface PodAddresses {
  podIP: string;
  nodeIP: string;
}

const ENTRY = /^metadata\.(labels|annotations)\['(.*)'\]$/;

/** What a `fieldRef` stands for; undefined when there is no such field. */
export function fieldValue(pod: Pod, path: string, { podIP, nodeIP }: PodAddresses): string | undefined {
  const { metadata, spec } = pod;
  const entry = ENTRY.exec(path);
  if (entry !== null) return metadata[entry[1] as 'labels' | 'annotations']?.[entry[2]!] ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    case 'spec.nodeName':
      return spec?.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec?.serviceAccountName ?? '';
    case 'status.podIP':
    case 'status.podIPs':
      return podIP;
    case 'status.hostIP':
    case 'status.hostIPs':
      return nodeIP;
    default:
      return undefined;
  }
}

/** One `key="value"` a line, sorted, quoted as the kubelet's downward API does it. */
function formatMap(map: Record<string, string> = {}): string {
  const keys = Object.keys(map).sort();
  return keys.map((key) => `${key}=${JSON.stringify(map[key])}`).join('\n');
}
