/** The two objects of a front door, as they shall be. The provisioner of the class makes the rest of them. */

import { apiVersionOf, type IngressClass, type OwnerReference } from '@tidegate/kube';
import {
  FRONT_DOOR_NAMESPACE,
  INGRESS_CONTROLLER_PREFIX,
  INGRESS_NGINX_CONTROLLER_PREFIX,
  L7_ROUTERS,
  type L7Router,
  YURT_INGRESS_LABEL,
  type YurtIngress,
} from '../api/index.ts';
import { isYurtIngress } from './observed.ts';
import { readSpec } from './read-spec.ts';

type Driver = 'nginx' | 'ingress-nginx';

/** The names that ingress-nginx and its copies in other registries go by. */
const INGRESS_NGINX = /(^|\/)(ingress-nginx\/controller|nginx-ingress-controller)(-chroot)?([:@]|$)/;

/** Tidegate's own router, unless the image is that of ingress-nginx. */
const driverFor = (image: string | undefined): Driver =>
  image !== undefined && INGRESS_NGINX.test(image) ? 'ingress-nginx' : 'nginx';

export function wantedRouter(pool: string, owner: YurtIngress): L7Router {
  const { replicas, image, pools } = readSpec(owner.spec);
  const addresses = [...(pools.get(pool) ?? [])];
  return {
    apiVersion: apiVersionOf(L7_ROUTERS.group, L7_ROUTERS.version),
    kind: 'L7Router',
    metadata: metadataFor(pool, owner),
    spec: {
      ingressClassName: pool,
      driver: driverFor(image),
      pool,
      workload: {
        namespace: FRONT_DOOR_NAMESPACE,
        replicas,
        ...(image !== undefined && { image }),
        serviceType: 'NodePort',
        ...(addresses.length > 0 && { addresses }),
      },
    },
  };
}

export const wantedClass = (pool: string, owner: YurtIngress): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: metadataFor(pool, owner),
  spec: { controller: CONTROLLERS[driverFor(readSpec(owner.spec).image)](pool) },
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

/** What is there, as it should be: the spec is ours alone; labels, annotations and owners may have others beside. */
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
