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
    image: spec.ingress_controller_image ?? spec.ingressControllerImage,
    certgenImage: spec.ingress_webhook_certgen_image ?? spec.ingressWebhookCertGenImage,
    pools: new Map(
      (spec.pools ?? []).map((pool) => [pool.name, pool.ingress_ips ?? pool.ingressIPs ?? []] as const),
    ),
  };
}
