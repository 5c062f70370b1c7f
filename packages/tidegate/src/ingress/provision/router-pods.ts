import { isBeingDeleted, PODS, type Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import { NamespacedInformers } from './namespaced-informers.ts';
import { namespacesOf } from './policy.ts';

const ROUTER_INDEX = 'ingress/router';
const NODE_INDEX = 'ingress/node';

/** Index of router pods by router and by node. */
export class RouterPods {
  readonly all: NamespacedInformers<Pod>;

  constructor({ informers, routerPolicy = {} }: Pick<IngressContext, 'informers' | 'routerPolicy'>) {
    this.all = new NamespacedInformers(informers, PODS, namespacesOf(routerPolicy));
    this.all.addIndex(ROUTER_INDEX, indexByRouter);
    this.all.addIndex(NODE_INDEX, indexByNode);
  }

  of(router: string): Pod[] {
    return this.all.byIndex(ROUTER_INDEX, router);
  }

  on(node: string): Pod[] {
    return this.all.byIndex(NODE_INDEX, node);
  }
}

export const routerOf = ({ metadata }: Pod): string => metadata.labels?.[ROUTER_LABEL] ?? '';

const indexByRouter = (pod: Pod): string[] => [routerOf(pod)];
const indexByNode = ({ spec }: Pod): string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

export const isReady = (pod: Pod): boolean =>
  !isBeingDeleted(pod) &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
