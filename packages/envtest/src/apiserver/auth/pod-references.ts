/** The objects that a pod references in its namespace. The node that runs the pod may read them. */
export interface PodReference {
  /** One of `secrets`, `configmaps`, `persistentvolumeclaims`, `serviceaccounts`. */
  resource: string;
  name: string;
}

interface Named {
  name?: string;
}

interface Container {
  env?: { valueFrom?: { secretKeyRef?: Named; configMapKeyRef?: Named } }[];
  envFrom?: { secretRef?: Named; configMapRef?: Named }[];
}

interface Source {
  secret?: Named;
  configMap?: Named;
}

interface Volume {
  secret?: { secretName?: string };
  configMap?: Named;
  persistentVolumeClaim?: { claimName?: string };
  projected?: { sources?: Source[] };
}

interface PodSpec {
  nodeName?: string;
  serviceAccountName?: string;
  imagePullSecrets?: Named[];
  containers?: Container[];
  initContainers?: Container[];
  ephemeralContainers?: Container[];
  volumes?: Volume[];
}

/** `node` is '' until the pod is bound to a node. */
export function podReferences(pod: Buffer): { node: string; references: PodReference[] } {
  const spec = ((JSON.parse(pod.toString()) as { spec?: PodSpec }).spec ?? {}) as PodSpec;
  if (!spec.nodeName) return { node: '', references: [] };
  const found = new Map<string, PodReference>();
  const add = (resource: string, name: string | undefined): void => {
    if (name) found.set(`${resource}/${name}`, { resource, name });
  };
  add('serviceaccounts', spec.serviceAccountName);
  for (const secret of spec.imagePullSecrets ?? []) add('secrets', secret.name);
  for (const list of [spec.containers, spec.initContainers, spec.ephemeralContainers]) {
    for (const container of list ?? []) addContainer(container, add);
  }
  for (const volume of spec.volumes ?? []) addVolume(volume, add);
  return { node: spec.nodeName, references: [...found.values()] };
}

type Add = (resource: string, name: string | undefined) => void;

function addContainer(container: Container, add: Add): void {
  for (const { valueFrom } of container.env ?? []) {
    add('secrets', valueFrom?.secretKeyRef?.name);
    add('configmaps', valueFrom?.configMapKeyRef?.name);
  }
  for (const from of container.envFrom ?? []) {
    add('secrets', from.secretRef?.name);
    add('configmaps', from.configMapRef?.name);
  }
}

function addVolume(volume: Volume, add: Add): void {
  add('secrets', volume.secret?.secretName);
  add('configmaps', volume.configMap?.name);
  add('persistentvolumeclaims', volume.persistentVolumeClaim?.claimName);
  for (const source of volume.projected?.sources ?? []) {
    add('secrets', source.secret?.name);
    add('configmaps', source.configMap?.name);
  }
}
