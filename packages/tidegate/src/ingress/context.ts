import type { ControllerContext } from '@tidegate/kube';

/** What the controllers of this folder are given. */
export interface IngressContext extends ControllerContext {
  /** Of routers for which nobody names another. */
  routerImage: string;
}
