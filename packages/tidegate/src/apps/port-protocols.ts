import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { listAt, type Path, read, write } from './json.ts';
import { workloadOf } from './workloads.ts';

/**
 * Returns the object with the default protocol at each port of a Service and of a container. The protocol is part of the key
 * of a port, and server-side apply of API servers before Kubernetes 1.23 refuses an entry without its whole key.
 */
export function withPortProtocols(object: KubeObject): KubeObject {
  return listsOfPorts(object).reduce((changed, path) => {
    const ports = read(changed, path);
    if (!Array.isArray(ports) || ports.every(hasProtocol)) return changed;
    const complete = ports.map((port) => (hasProtocol(port) ? port : { ...port, protocol: 'TCP' }));
    return write(changed, path, complete);
  }, object);
}

/** An entry that is not an object is left to the validation of the API server. */
const hasProtocol = (port: unknown): boolean => !isJsonMap(port) || port.protocol !== undefined;

function listsOfPorts(object: KubeObject): Path[] {
  if (object.apiVersion === 'v1' && object.kind === 'Service') return [['spec', 'ports']];
  const workload = workloadOf(object);
  if (workload === undefined) return [];
  return ['containers', 'initContainers'].flatMap((name) => {
    const containers = [...workload.pod, 'spec', name];
    return listAt(object, containers).map((_, index) => [...containers, String(index), 'ports']);
  });
}
