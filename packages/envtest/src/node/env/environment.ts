import { type ConfigMap, ownField, type Pod, type Service, setField } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { type Container, type ContainerPlace, EnvError, type Environment } from '../contracts.ts';
import {
  type Referenced,
  type ReferencedKind,
  type References,
  ReferenceTimeoutError,
} from '../references/index.ts';
import { apiEndpoint, apiServerVariables } from './api-server.ts';
import { expand } from './expand.ts';
import { fieldValue } from './fields.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Allocatable, resourceValue } from './resources.ts';
import { serviceLinks } from './service-links.ts';

/** Options of {@link PodEnvironment}. */
export interface PodEnvironmentOptions {
  references: References;
  nodeName: string;
  nodeIP: string;
  /** The Service `default/kubernetes` as this node sees it; pods reach the API server there. */
  apiService: () => Service | undefined;
  /** The Services of a namespace. */
  servicesIn?: (namespace: string) => readonly Service[];
  allocatable: () => Allocatable;
  /** The PATH of the pods, which is that of the agent. */
  path?: string;
}

type Variables = Record<string, string>;

/** Composes environments like the kubelet: Services of the namespace, `envFrom`, then the address of the API server, then `env` in order. */
export class PodEnvironment implements Environment {
  readonly #options: PodEnvironmentOptions;

  constructor(options: PodEnvironmentOptions) {
    this.#options = options;
  }

  async of(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<Variables> {
    try {
      const variables = {
        ...(await this.#given(pod, container, place)),
        ...this.#links(pod),
        ...(await this.#fromSources(pod, container)),
        ...apiServerVariables(this.#options.apiService()),
      };
      for (const entry of container.env ?? []) {
        const value = await this.#value(entry, pod, container, podIP, variables);
        if (value !== undefined) setField(variables, entry.name, value);
      }
      return variables;
    } catch (error) {
      if (error instanceof ReferenceTimeoutError) throw new EnvError(error.message, { cause: error });
      throw error;
    }
  }

  /**
   * Variables that every container has, before any from its spec. CONTAINER_ROOT replaces the container's root
   * directory.
   */
  async #given(pod: Pod, container: Container, place: ContainerPlace): Promise<Variables> {
    const { nodeName, apiService, path = '' } = this.#options;
    const kubeconfig = await writeKubeconfig(pod, container, place, apiEndpoint(apiService()));
    return {
      PATH: path,
      HOSTNAME: pod.spec?.hostNetwork === true ? nodeName : (pod.spec?.hostname ?? pod.metadata.name ?? ''),
      CONTAINER_ROOT: place.root,
      ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
    };
  }

  #links({ metadata, spec }: Pod): Variables {
    if (spec?.enableServiceLinks === false) return {};
    return serviceLinks(this.#options.servicesIn?.(metadata.namespace ?? '') ?? []);
  }

  async #fromSources(pod: Pod, { envFrom = [] }: Container): Promise<Variables> {
    const variables: Variables = {};
    for (const { prefix = '', configMapRef, secretRef } of envFrom) {
      const kind = configMapRef === undefined ? 'Secret' : 'ConfigMap';
      const { name = '', optional = false } = configMapRef ?? secretRef ?? {};
      const object = await this.#find(kind, pod, name, optional);
      for (const [key, value] of Object.entries(texts(object))) setField(variables, `${prefix}${key}`, value);
    }
    return variables;
  }

  /** Undefined when the variable is not set at all. */
  async #value(
    { value, valueFrom }: core.EnvVar,
    pod: Pod,
    container: Container,
    podIP: string,
    variables: Variables,
  ): Promise<string | undefined> {
    if (valueFrom === undefined) return expand(value ?? '', variables);
    const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
    if (configMapKeyRef !== undefined) return this.#key('ConfigMap', pod, configMapKeyRef);
    if (secretKeyRef !== undefined) return this.#key('Secret', pod, secretKeyRef);
    if (fieldRef !== undefined) {
      const { nodeIP } = this.#options;
      return known(fieldValue(pod, fieldRef.fieldPath, { podIP, nodeIP }), fieldRef.fieldPath);
    }
    const { resource = '', divisor, containerName = container.name } = resourceFieldRef ?? {};
    const named = containersOf(pod).find(({ name }) => name === containerName) ?? container;
    return known(resourceValue(named, resource, divisor, this.#options.allocatable()), resource);
  }

  async #key(
    kind: ReferencedKind,
    pod: Pod,
    { name = '', key, optional = false }: core.ConfigMapKeySelector,
  ): Promise<string | undefined> {
    const object = await this.#find(kind, pod, name, optional);
    if (object === undefined) return undefined;
    const value = ownField(texts(object), key);
    if (value === undefined && !optional) {
      throw new EnvError(`couldn't find key ${key} in ${kind} ${pod.metadata.namespace}/${name}`);
    }
    return value;
  }

  async #find(
    kind: ReferencedKind,
    pod: Pod,
    name: string,
    optional: boolean,
  ): Promise<Referenced | undefined> {
    const namespace = pod.metadata.namespace ?? '';
    const object = await this.#options.references.get({ kind, namespace, name });
    if (object === undefined && !optional) {
      throw new EnvError(`${kind.toLowerCase()} ${JSON.stringify(name)} not found`);
    }
    return object;
  }
}

const containersOf = ({ spec }: Pod): Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** The value, or an error that names the unknown field. */
function known(value: string | undefined, path: string): string {
  if (value === undefined)
    throw new EnvError(`the field ${path} does not exist or cannot be referenced by a pod`);
  return value;
}

/** Secrets are base64-encoded, ConfigMaps are text. `binaryData` cannot become a variable. */
function texts(object: Referenced | undefined): Variables {
  if (object === undefined) return {};
  if (object.kind !== 'Secret') return (object as ConfigMap).data ?? {};
  const entries = Object.entries(object.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
