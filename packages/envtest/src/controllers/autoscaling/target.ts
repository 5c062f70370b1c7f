/** The target of an autoscaler: any kind with the subresource `scale`. */
import {
  type HorizontalPodAutoscaler,
  type KubeClient,
  type KubeObject,
  parseApiVersion,
  type Resource,
} from '@tidegate/kube';

interface Scale extends KubeObject {
  spec?: { replicas?: number };
  status?: { replicas?: number; selector?: string };
}

export interface Target {
  /** The replicas that the target should have. */
  replicas: number;
  /** The replicas that it has. */
  actual: number;
  /** A label selector as text. */
  selector: string;
  scaleTo(replicas: number): Promise<void>;
}

/** Throws if the target does not exist or cannot be scaled. */
export async function readTarget(
  client: KubeClient,
  { metadata, spec }: HorizontalPodAutoscaler,
  signal: AbortSignal,
): Promise<Target> {
  const { apiVersion = '', kind = '', name = '' } = spec?.scaleTargetRef ?? {};
  const resource = (await client.discovery.forKind({
    ...parseApiVersion(apiVersion),
    kind,
  })) as Resource<Scale>;
  const target = { namespace: metadata.namespace, name, subresource: 'scale' };
  const scale = await client.get(resource, target, { signal });
  return {
    replicas: scale.spec?.replicas ?? 0,
    actual: scale.status?.replicas ?? 0,
    selector: scale.status?.selector ?? '',
    scaleTo: async (replicas) => {
      await client.update(resource, { ...scale, spec: { replicas } }, { subresource: 'scale', signal });
    },
  };
}
