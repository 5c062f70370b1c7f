import type { ControllerContext } from '@tidegate/kube';

/** Dependencies of the controllers in this folder. */
export interface IngressContext extends ControllerContext {
  /** Default image of router pods. A class or an L7Router can set another image. */
  routerImage: string;
}
