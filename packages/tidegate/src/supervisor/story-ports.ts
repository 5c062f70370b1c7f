/** The ports on which the pods of the example listen. Another program of the machine may use one of them already. */
import type { KubeObject } from '@tidegate/kube';

/** Fields of pods and Services with a port on the address of a pod. Ports of Services themselves bind nothing. */
const FIELDS = ['containerPort', 'targetPort'];

/** All ports of the objects, each once. */
export function portsOf(objects: readonly KubeObject[]): number[] {
  const ports = new Set<number>();
  replaceNumbers(objects, (port) => {
    ports.add(port);
    return port;
  });
  return [...ports];
}

/** The objects with other ports, wherever a port has a replacement. */
export const withPorts = (
  objects: readonly KubeObject[],
  replacements: ReadonlyMap<number, number>,
): KubeObject[] => replaceNumbers([...objects], (port) => replacements.get(port) ?? port);

function replaceNumbers<T>(value: T, replace: (port: number) => number): T {
  if (Array.isArray(value)) return value.map((item) => replaceNumbers(item, replace)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    FIELDS.includes(key) && typeof item === 'number' ? replace(item) : replaceNumbers(item, replace),
  ]);
  return Object.fromEntries(entries) as T;
}
