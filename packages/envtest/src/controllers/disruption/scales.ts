import {
  DEPLOYMENTS,
  type Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
  type OwnerReference,
  type Pod,
  parseApiVersion,
  qualifiedName,
  REPLICA_SETS,
  type Resource,
  STATEFUL_SETS,
  TerminalError,
} from '@tidegate/kube';
import { controllerOf } from '../pods/index.ts';

interface Scaled extends KubeObject {
  spec?: { replicas?: number };
}

/** Finds out how many pods there should be, by asking the controllers of the pods for their scale. */
export class Scales {
  readonly #client: KubeClient;
  readonly #cached: Readonly<Record<string, (key: string) => Scaled | undefined>>;

  constructor(client: KubeClient, informers: Informers) {
    this.#client = client;
    const from = <T extends Scaled>(resource: Resource<T>): ((key: string) => Scaled | undefined) => {
      const { cache } = informers.for(resource);
      return (key) => cache.get(key);
    };
    this.#cached = {
      'apps/Deployment': from(DEPLOYMENTS),
      'apps/ReplicaSet': from(REPLICA_SETS),
      'apps/StatefulSet': from(STATEFUL_SETS),
    };
  }

  /**
   * The sum of the replicas of all controllers of the pods. Pods without a controller are returned separately: no
   * scale includes them.
   */
  async expected(pods: readonly Pod[], signal: AbortSignal): Promise<{ expected: number; unmanaged: Pod[] }> {
    const replicas = new Map<string, number>();
    const asked = new Set<string>();
    for (const pod of pods) {
      const controller = controllerOf(pod);
      if (controller === undefined || asked.has(controller.uid)) continue;
      asked.add(controller.uid);
      const top = await this.#topOf(controller, pod.metadata.namespace ?? '', signal);
      if (top === undefined)
        throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
      replicas.set(top.metadata.uid ?? '', top.spec?.replicas ?? 1);
    }
    const expected = [...replicas.values()].reduce((sum, count) => sum + count, 0);
    return { expected, unmanaged: pods.filter((pod) => controllerOf(pod) === undefined) };
  }

  /** The Deployment above a ReplicaSet: during a rollout, several ReplicaSets share its replicas. */
  async #topOf(
    reference: OwnerReference,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Scaled | undefined> {
    const owner = await this.#find(reference, namespace, signal);
    const above = owner === undefined ? undefined : controllerOf(owner);
    return reference.kind === 'ReplicaSet' && above?.kind === 'Deployment'
      ? this.#find(above, namespace, signal)
      : owner;
  }

  async #find(
    reference: OwnerReference,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Scaled | undefined> {
    const { apiVersion, kind, name, uid } = reference;
    const cached = this.#cached[`${parseApiVersion(apiVersion).group}/${kind}`];
    const found =
      cached === undefined
        ? await this.#readScale(reference, namespace, signal)
        : cached(keyOf({ apiVersion, kind, metadata: { namespace, name } }));
    return found?.metadata.uid === uid ? found : undefined;
  }

  async #readScale(
    { apiVersion, kind, name }: OwnerReference,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Scaled | undefined> {
    const resource = await this.#client.discovery.forKind({ ...parseApiVersion(apiVersion), kind });
    if (!resource.subresources.includes('scale')) {
      throw new TerminalError(`${qualifiedName(resource)} does not implement the scale subresource`);
    }
    try {
      return await this.#client.get(resource, { namespace, name, subresource: 'scale' }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
