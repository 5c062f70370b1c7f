import type { ControllerContext, PodDisruptionBudget, Resource } from '@tidegate/kube';
import type { RouterPolicy } from './provision/policy.ts';
import type { RouterPorts } from './provision/router-program.ts';
import type { Provisioner } from './provisioners/index.ts';

/** Dependencies of the controllers in this folder. */
export interface IngressContext extends ControllerContext {
  /** Default image of router pods. A class or an L7Router can set another image. */
  routerImage: string;
  /** What else may run as a router, and where. Default: nothing but the default image, in its usual namespaces. */
  routerPolicy?: RouterPolicy;
  /** Provisioners besides those of every manager, for example for a cloud. */
  provisioners?: readonly Provisioner[];
  /** The ports of routers in their pods, if not the usual ones. */
  routerPorts?: RouterPorts;
  /** The API version that the cluster serves. Default: v1. */
  disruptionBudgets?: Resource<PodDisruptionBudget>;
}
