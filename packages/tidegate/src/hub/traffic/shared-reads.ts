import type { Clock, Link } from '@tidegate/kube';
import { notFound } from '@tidegate/serving';
import { answerList, answerObject, answerWatch } from '../answers/index.ts';
import type { ContextViews } from '../context-views.ts';
import type { Chain } from '../filters/filter.ts';
import type { Access } from '../identity/access.ts';
import { readOptions, selectable } from '../request/index.ts';
import type { Projections } from '../views/projection/index.ts';
import type { View } from '../views/view.ts';
import type { Views } from '../views/views.ts';
import { namespaceOf, type ResourceCall, resourceOf } from './call.ts';
import type { HubForm } from './form.ts';
import { newest } from './newest.ts';
import type { RecentWrites } from './recent-writes.ts';
import { isShared } from './shared-resources.ts';

export interface SharedReadsOptions {
  views: Views;
  contextViews: ContextViews;
  projections: Projections;
  access: Pick<Access, 'check'>;
  recentWrites: RecentWrites;
  chainFor(call: ResourceCall): Chain;
  link: Link;
  clock: Clock;
}

/** Reads of what one watch brings for the whole node: whoever may read it gets it from there, and costs the cloud nothing. */
export class SharedReads {
  readonly #options: SharedReadsOptions;

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** Whether it is about a resource that is shared, in a way that the hub can answer itself. */
  takes(call: ResourceCall): boolean {
    const { info, url, identity } = call;
    const resource = resourceOf(info);
    if (identity.kind === 'anonymous' || !isShared(resource)) return false;
    if (info.verb === 'get') return true;
    return selectable(resource, readOptions(url.searchParams, namespaceOf(info)).selection.fields);
  }

  /** False when it has to come from the API server after all: somebody wants what the view can not know yet. */
  async serve(
    call: ResourceCall,
    { representation }: HubForm,
    wanted: 'newest' | 'at hand',
  ): Promise<boolean> {
    const { views, access } = this.#options;
    const { info, identity, signal } = call;
    if (identity.kind === 'anonymous') return false;
    await access.check(identity, { ...info, namespace: namespaceOf(info) }, signal);
    const held = views.shared(resourceOf(info));
    try {
      await held.view.ready(signal);
      if (this.#options.chainFor(call).filters.length > 0) await this.#contextIsKnown(signal);
      if (wanted === 'newest' && !(await this.#canAnswer(call, held.view))) return false;
      await this.#answer(call, held.view, representation);
      return true;
    } finally {
      held.release();
    }
  }

  /** What filters look at. Where the cluster has no pools nobody is in one; without Services nothing can be judged. */
  async #contextIsKnown(signal: AbortSignal): Promise<void> {
    const { services, nodePools, nodeGroups } = this.#options.contextViews;
    const pools = [nodePools, nodeGroups].map(({ view }) => view.ready(signal));
    await Promise.all([services.view.ready(signal), Promise.allSettled(pools)]);
  }

  async #answer(call: ResourceCall, view: View, representation: HubForm['representation']): Promise<void> {
    const { projections, clock, chainFor, link } = this.#options;
    const { info, url, exchange, signal } = call;
    const chain = (): Chain => chainFor(call);
    if (info.verb === 'get') {
      const key = info.namespace === '' ? info.name : `${info.namespace}/${info.name}`;
      const item = projections.get(view, chain(), key);
      if (item === undefined) throw notFound(info, info.name);
      return answerObject(exchange, item, representation);
    }
    const read = readOptions(url.searchParams, namespaceOf(info));
    if (read.watch && read.options.resourceVersion === '') await newest(view, link, signal);
    const hold = projections.hold(view, chain, read.selection);
    try {
      if (read.watch) await answerWatch(exchange, hold, read.options, representation, { clock, signal });
      else await answerList(exchange, hold, read.options, representation, { clock, signal });
    } finally {
      hold.release();
    }
  }

  async #canAnswer(call: ResourceCall, view: View): Promise<boolean> {
    const { projections, chainFor, link } = this.#options;
    const { info, url, signal } = call;
    if (info.verb === 'get') return this.#isNewest(call, view);
    const { watch, options, selection } = readOptions(url.searchParams, namespaceOf(info));
    if (watch || !link.online) return true;
    if (options.continue !== '') return false;
    if (options.exact) {
      // The version of now may be the hub's own, which no API server knows.
      const hold = projections.hold(view, () => chainFor(call), selection);
      hold.release();
      return options.resourceVersion === hold.projection.resourceVersion;
    }
    if (options.resourceVersion !== '') return true;
    // A version of the API server's own would lead nowhere: the watch that follows begins here.
    await newest(view, link, signal);
    return this.#isNewest(call, view);
  }

  /** Whether the view shows what the API server would, as far as this node can know; without a link it is all there is. */
  #isNewest({ info }: ResourceCall, view: View): boolean {
    const { link, recentWrites } = this.#options;
    if (!link.online) return true;
    return view.state === 'following' && recentWrites.shownAt(resourceOf(info), view.resourceVersion);
  }
}
