import { ownField, type Pod } from '@tidegate/kube';

/** Addresses that are known here before they are in the pod's status. */
export interface PodAddresses {
  podIP: string;
  nodeIP: string;
}

const ENTRY = /^metadata\.(labels|annotations)\['(.*)'\]$/;

/** The value of a `fieldRef`; undefined for an unknown field. */
export function fieldValue(pod: Pod, path: string, { podIP, nodeIP }: PodAddresses): string | undefined {
  const { metadata, spec } = pod;
  const entry = ENTRY.exec(path);
  if (entry !== null) return ownField(metadata[entry[1] as 'labels' | 'annotations'], entry[2]!) ?? '';
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

/** One `key="value"` per line, sorted and quoted as in the kubelet's downward API. */
function formatMap(map: Record<string, string> = {}): string {
  const keys = Object.keys(map).sort();
  return keys.map((key) => `${key}=${JSON.stringify(map[key])}`).join('\n');
}
