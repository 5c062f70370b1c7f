import type { YurtIngressSpec } from '../api/index.ts';

/** What a YurtIngress asks for, in whichever spelling. */
export interface FrontDoors {
  readonly replicas: number;
  /** Undefined: Tidegate's own. */
  readonly image: string | undefined;
  readonly certgenImage: string | undefined;
  /** The addresses of each pool. */
  readonly pools: ReadonlyMap<string, readonly string[]>;
}

const DEFAULT_REPLICAS = 1;

/** The spelling that was proposed counts before the one that was shipped; the schema refuses two that differ. */
export function readSpec(spec: YurtIngressSpec = {}): FrontDoors {
  return {
    replicas:
      spec.ingress_controller_replicas_per_pool ?? spec.ingressControllerReplicasPerPool ?? DEFAULT_REPLICAS,
    image: spec.ingress_controller_image ?? spec.ingressControllerImage,
    certgenImage: spec.ingress_webhook_certgen_image ?? spec.ingressWebhookCertGenImage,
    pools: new Map(
      (spec.pools ?? []).map((pool) => [pool.name, pool.ingress_ips ?? pool.ingressIPs ?? []] as const),
    ),
  };
}
