/** References by name between the objects of one edition: the name in the template becomes the name in the edition. */
import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { mapAt, type Path, read, write } from '../json.ts';
import { workloadOf } from '../workloads.ts';
import type { Manifest } from './decode.ts';
import { type Naming, nameIn } from './names.ts';
import { SCALE_TARGETS } from './per-edition.ts';
import { kindOf } from './scopes.ts';

/** Where a field refers to an object of a kind. `*` stands for every item of a list. */
type Reference = readonly [kind: string, path: Path];

const at = (kind: string, path: string): Reference => [kind, path.split('.')];

const CONTAINERS = ['containers.*', 'initContainers.*'];
const IN_PODS: readonly Reference[] = [
  at('ConfigMap', 'volumes.*.configMap.name'),
  at('ConfigMap', 'volumes.*.projected.sources.*.configMap.name'),
  at('Secret', 'volumes.*.secret.secretName'),
  at('Secret', 'volumes.*.projected.sources.*.secret.name'),
  at('Secret', 'imagePullSecrets.*.name'),
  at('PersistentVolumeClaim', 'volumes.*.persistentVolumeClaim.claimName'),
  at('ServiceAccount', 'serviceAccountName'),
  at('ServiceAccount', 'serviceAccount'),
  ...CONTAINERS.flatMap((container) => [
    at('ConfigMap', `${container}.env.*.valueFrom.configMapKeyRef.name`),
    at('ConfigMap', `${container}.envFrom.*.configMapRef.name`),
    at('Secret', `${container}.env.*.valueFrom.secretKeyRef.name`),
    at('Secret', `${container}.envFrom.*.secretRef.name`),
  ]),
];

const BY_KIND: Readonly<Record<string, readonly Reference[]>> = {
  'apps/StatefulSet': [at('Service', 'spec.serviceName')],
  'networking.k8s.io/Ingress': [
    at('Service', 'spec.defaultBackend.service.name'),
    at('Service', 'spec.rules.*.http.paths.*.backend.service.name'),
    at('Secret', 'spec.tls.*.secretName'),
  ],
};

/** The name of an object in an edition, or undefined if the object has no editions. */
export type RenameIn = (kind: string, namespace: string | undefined, name: string) => string | undefined;

/** The longest name that a kind allows. Services and objects that become labels have lower limits. */
export function longestName(object: KubeObject): number {
  if (object.apiVersion === 'v1' && object.kind === 'Service') return 63;
  return workloadOf(object)?.maxNameLength ?? 253;
}

/** Finds the names of all objects with editions, for one edition. */
export function namesIn(manifests: readonly Manifest[], naming: Naming): RenameIn {
  const names = new Map<string, string>();
  for (const { object } of manifests) {
    const { namespace = '', name = '' } = object.metadata;
    names.set(`${object.kind} ${namespace}/${name}`, nameIn(naming, name, longestName(object)));
  }
  return (kind, namespace = '', name) => names.get(`${kind} ${namespace}/${name}`);
}

/** Returns the object with its references to other objects of the edition. */
export function withReferences(object: KubeObject, rename: RenameIn): KubeObject {
  const { namespace } = object.metadata;
  const workload = workloadOf(object);
  const { group, kind } = kindOf(object);
  const references: Reference[] = [
    ...(workload === undefined
      ? []
      : IN_PODS.map(([target, path]): Reference => [target, [...workload.pod, 'spec', ...path]])),
    ...(BY_KIND[`${group}/${kind}`] ?? []),
    ...SCALE_TARGETS.map((field): Reference => {
      const { kind: target = 'Deployment' } = mapAt(object, ['spec', field]);
      return [String(target), ['spec', field, 'name']];
    }),
  ];
  let changed = object;
  for (const [target, path] of references) {
    for (const found of pathsTo(changed, path)) {
      const name = read(changed, found);
      const renamed = typeof name === 'string' ? rename(target, namespace, name) : undefined;
      if (renamed !== undefined) changed = write(changed, found, renamed);
    }
  }
  return changed;
}

/** The paths of all values that exist at the pattern. */
function pathsTo(value: unknown, pattern: Path): Path[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [[]];
  if (step === '*')
    return Array.isArray(value)
      ? value.flatMap((item, index) => pathsTo(item, rest).map((path) => [String(index), ...path]))
      : [];
  if (!isJsonMap(value) || !Object.hasOwn(value, step)) return [];
  return pathsTo(value[step], rest).map((path) => [step, ...path]);
}
