import { type Informer, type Informers, isBeingDeleted, PODS, type Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../../api/index.ts';

const ROUTER_INDEX = 'ingress/router';
const NODE_INDEX = 'ingress/node';

/** Index of router pods by router and by node. */
export class RouterPods {
  readonly informer: Informer<Pod>;

  constructor(informers: Informers) {
    this.informer = informers.for(PODS, { labelSelector: ROUTER_LABEL });
    this.informer.addIndex(ROUTER_INDEX, indexByRouter);
    this.informer.addIndex(NODE_INDEX, indexByNode);
  }

  of(router: string): Pod[] {
    return this.informer.cache.byIndex(ROUTER_INDEX, router);
  }

  on(node: string): Pod[] {
    return this.informer.cache.byIndex(NODE_INDEX, node);
  }
}

export const routerOf = ({ metadata }: Pod): string => metadata.labels?.[ROUTER_LABEL] ?? '';

const indexByRouter = (pod: Pod): string[] => [routerOf(pod)];
const indexByNode = ({ spec }: Pod): string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

export const isReady = (pod: Pod): boolean =>
  !isBeingDeleted(pod) &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
