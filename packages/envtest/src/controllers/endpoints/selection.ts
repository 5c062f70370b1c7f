/** Which pods a Service selects, and which Services select a pod. Indexes keep each lookup within one namespace. */
import { type Cache, type Informer, type KubeObject, keyOf, type Pod, type Service } from '@tidegate/kube';

const BY_NAMESPACE = 'endpoints/namespace';
const BY_NODE = 'endpoints/node';

const namespaceOf = ({ metadata }: KubeObject): string[] => [metadata.namespace ?? ''];
const nodeOf = ({ spec }: Pod): string[] => (spec?.nodeName ? [spec.nodeName] : []);

/** Must be called before the functions below. */
export function indexSelections(services: Informer<Service>, pods: Informer<Pod>): void {
  services.addIndex(BY_NAMESPACE, namespaceOf);
  pods.addIndex(BY_NAMESPACE, namespaceOf);
  pods.addIndex(BY_NODE, nodeOf);
}

/** Without a selector, users write the endpoints themselves; a Service of type ExternalName has none. */
export const hasSelector = ({ spec }: Service): boolean =>
  spec?.type !== 'ExternalName' && Object.keys(spec?.selector ?? {}).length > 0;

const selects = (service: Service, pod: Pod): boolean =>
  hasSelector(service) &&
  Object.entries(service.spec?.selector ?? {}).every(([key, value]) => pod.metadata.labels?.[key] === value);

/** The pods that the Service selects. */
export const podsOf = (pods: Cache<Pod>, service: Service): Pod[] =>
  pods.byIndex(BY_NAMESPACE, service.metadata.namespace ?? '').filter((pod) => selects(service, pod));

/** The pods that are bound to the node. */
export const podsOn = (pods: Cache<Pod>, node: string): Pod[] => pods.byIndex(BY_NODE, node);

/** The keys of the Services that select the pod. */
export const servicesOf = (services: Cache<Service>, pod: Pod): string[] =>
  services
    .byIndex(BY_NAMESPACE, pod.metadata.namespace ?? '')
    .filter((service) => selects(service, pod))
    .map(keyOf);
