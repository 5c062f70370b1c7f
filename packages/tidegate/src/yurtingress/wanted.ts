/** The wanted L7Router and IngressClass of a front door. The provisioner creates the objects behind them. */

import { apiVersionOf, type IngressClass, type OwnerReference } from '@tidegate/kube';
import {
  FRONT_DOOR_NAMESPACE,
  INGRESS_CONTROLLER_PREFIX,
  INGRESS_NGINX_CONTROLLER_PREFIX,
  INGRESS_NGINX_NAMESPACE,
  type IngressControllerFlavor,
  L7_ROUTERS,
  type L7Router,
  YURT_INGRESS_LABEL,
  type YurtIngress,
} from '../api/index.ts';
import { isYurtIngress } from './observed.ts';
import { readSpec } from './read-spec.ts';

type Driver = 'nginx' | 'ingress-nginx';

/** The driver of a flavor. The name of an image proves nothing, so it does not select the driver. */
const DRIVERS: Readonly<Record<IngressControllerFlavor, Driver>> = {
  tidegate: 'nginx',
  'ingress-nginx': 'ingress-nginx',
};

/** The L7Router of a front door. It has no hosts, so it serves every Ingress of its class. */
export function wantedRouter(pool: string, owner: YurtIngress): L7Router {
  const { replicas, flavor, image, pools } = readSpec(owner.spec);
  const addresses = [...(pools.get(pool) ?? [])];
  return {
    apiVersion: apiVersionOf(L7_ROUTERS.group, L7_ROUTERS.version),
    kind: 'L7Router',
    metadata: metadataFor(pool, owner),
    spec: {
      ingressClassName: pool,
      driver: DRIVERS[flavor],
      pool,
      workload: {
        namespace: flavor === 'ingress-nginx' ? INGRESS_NGINX_NAMESPACE : FRONT_DOOR_NAMESPACE,
        replicas,
        ...(image !== undefined && { image }),
        serviceType: 'NodePort',
        ...(addresses.length > 0 && { addresses }),
      },
    },
  };
}

/**
 * The IngressClass of a front door. Each ingress-nginx serves all classes with its controller name, so every pool needs
 * its own name. A router of Tidegate serves only the class that its L7Router names.
 */
export const wantedClass = (pool: string, owner: YurtIngress): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: metadataFor(pool, owner),
  spec: { controller: CONTROLLERS[DRIVERS[readSpec(owner.spec).flavor]](pool) },
});

const CONTROLLERS: Readonly<Record<Driver, (pool: string) => string>> = {
  nginx: () => `${INGRESS_CONTROLLER_PREFIX}nginx`,
  'ingress-nginx': (pool) => `${INGRESS_NGINX_CONTROLLER_PREFIX}${pool}`,
};

const metadataFor = (name: string, owner: YurtIngress) => ({
  name,
  labels: { [YURT_INGRESS_LABEL]: `${owner.metadata.name}` },
  ownerReferences: [referenceTo(owner)],
});

const referenceTo = ({ apiVersion, kind, metadata }: YurtIngress): OwnerReference => ({
  apiVersion,
  kind,
  name: `${metadata.name}`,
  uid: `${metadata.uid}`,
  controller: true,
});

type Written = L7Router | IngressClass;

/**
 * Returns the live object with all corrections. The whole spec belongs to this controller. Labels, annotations and owner
 * references of others are kept.
 */
export function corrected<T extends Written>(live: T, wanted: T): T {
  const others = (live.metadata.ownerReferences ?? []).filter((reference) => !isYurtIngress(reference));
  return {
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata.labels, ...wanted.metadata.labels },
      ownerReferences: [...others, ...(wanted.metadata.ownerReferences ?? [])],
    },
    spec: wanted.spec,
  };
}
