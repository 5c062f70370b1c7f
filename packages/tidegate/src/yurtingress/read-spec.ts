import type { IngressControllerFlavor, YurtIngressSpec } from '../api/index.ts';

/** The spec of a YurtIngress, independent of its spelling. */
export interface RequestedFrontDoors {
  /** Router pods per pool. */
  readonly replicas: number;
  readonly flavor: IngressControllerFlavor;
  /** The image of the routers. Undefined selects the image of the flavor. */
  readonly image: string | undefined;
  /** Accepted for compatibility, and only copied to the status. */
  readonly certgenImage: string | undefined;
  /** Pool names, with the addresses (`ingress_ips`) of each pool. */
  readonly pools: ReadonlyMap<string, readonly string[]>;
}

const DEFAULT_REPLICAS = 1;

/**
 * Reads the spec. OpenYurt's proposal uses snake_case (`ingress_ips`), its releases use camelCase (`ingressIPs`), and both
 * are accepted. If both are set, snake_case wins; the schema rejects two that differ.
 */
export function readSpec(spec: YurtIngressSpec = {}): RequestedFrontDoors {
  return {
    replicas:
      spec.ingress_controller_replicas_per_pool ?? spec.ingressControllerReplicasPerPool ?? DEFAULT_REPLICAS,
    flavor: spec.ingress_controller_flavor ?? 'tidegate',
    image: usable(spec.ingress_controller_image ?? spec.ingressControllerImage),
    certgenImage: spec.ingress_webhook_certgen_image ?? spec.ingressWebhookCertGenImage,
    pools: new Map(
      (spec.pools ?? []).map((pool) => [pool.name, pool.ingress_ips ?? pool.ingressIPs ?? []] as const),
    ),
  };
}

/**
 * The webhook of OpenYurt wrote its default image, a release of ingress-nginx before 1.0, into every YurtIngress. No flavor can
 * run such an image: it has other flags, and it reads kinds that Kubernetes no longer has. So it means the same as no image.
 */
const usable = (image: string | undefined): string | undefined =>
  image !== undefined && isOldIngressNginx(image) ? undefined : image;

/** Whether the image is a release of ingress-nginx before 1.0, from any registry. */
export const isOldIngressNginx = (image: string): boolean =>
  /(^|\/)(ingress-nginx\/controller|nginx-ingress-controller):v?0\.\d/.test(image);
