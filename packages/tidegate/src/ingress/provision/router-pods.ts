import { isBeingDeleted, PODS, type Pod } from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, ROUTER_LABEL } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import { podsKeyOf } from './identity.ts';
import { NamespacedInformers } from './namespaced-informers.ts';
import { PodMembers } from './pod-members.ts';
import { namespacesOf } from './policy.ts';

const ROUTER_INDEX = 'ingress/router';
const NODE_INDEX = 'ingress/node';

/** Index of router pods by router and by node. */
export class RouterPods {
  readonly all: NamespacedInformers<Pod>;
  readonly #members: PodMembers;

  constructor({ informers, routerPolicy = {} }: Pick<IngressContext, 'informers' | 'routerPolicy'>) {
    this.all = new NamespacedInformers(informers, PODS, namespacesOf(routerPolicy));
    this.#members = new PodMembers(informers.for(L7_ROUTERS));
    this.all.addIndex(ROUTER_INDEX, indexByRouter);
    this.all.addIndex(NODE_INDEX, indexByNode);
  }

  of(router: L7Router): Pod[] {
    return this.all.byIndex(ROUTER_INDEX, podsKeyOf(router));
  }

  /** Names of the routers that the pod runs. */
  routersOf({ metadata }: Pod): string[] {
    return this.#members.named(metadata.labels?.[ROUTER_LABEL] ?? '');
  }

  on(node: string): Pod[] {
    return this.all.byIndex(NODE_INDEX, node);
  }
}

const indexByRouter = ({ metadata }: Pod): string[] => [metadata.labels?.[ROUTER_LABEL] ?? ''];
const indexByNode = ({ spec }: Pod): string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

export const isReady = (pod: Pod): boolean =>
  !isBeingDeleted(pod) &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
