import type { Resource } from '@tidegate/kube';
import type { Holder } from '../shares/index.ts';
import type { ManagedView } from './managed-view.ts';
import type { ViewKey } from './view.ts';
import { groupOf, idOf } from './view-key.ts';

/** The views of this node, by key, and by identity and resource. Both are changed in one step. */
export class ViewIndex {
  readonly #views = new Map<string, ManagedView>();
  /** The views that one identity has of one resource, by `groupOf`. */
  readonly #groups = new Map<string, Set<ManagedView>>();

  get(key: ViewKey): ManagedView | undefined {
    return this.#views.get(idOf(key));
  }

  add(view: ManagedView): void {
    const { identity, resource } = view.key;
    this.#views.set(idOf(view.key), view);
    const group = groupOf(identity, resource);
    const members = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, members.add(view));
  }

  /** Does nothing if the view is not in the index. A view with the same key that was added later stays. */
  remove(view: ManagedView): void {
    const { identity, resource } = view.key;
    const group = groupOf(identity, resource);
    const members = this.#groups.get(group);
    members?.delete(view);
    if (members?.size === 0) this.#groups.delete(group);
    const id = idOf(view.key);
    if (this.#views.get(id) === view) this.#views.delete(id);
  }

  all(): Iterable<ManagedView> {
    return this.#views.values();
  }

  /** A copy of the views that match. The index may change while a caller works on them. */
  filter(matches: (view: ManagedView) => boolean): ManagedView[] {
    return [...this.#views.values()].filter(matches);
  }

  /** The views that one identity has of one resource, whatever they select. */
  group(identity: string, resource: Resource): Iterable<ManagedView> {
    return this.#groups.get(groupOf(identity, resource)) ?? [];
  }

  /**
   * The views of a tenant that are followed although no client holds them, in the order in which they make room for
   * another view: those of the same client first, then the ones that were used least recently.
   */
  lingering({ identity, tenant }: Holder, holderOf: (identity: string) => Holder): ManagedView[] {
    const isOwn = ({ key }: ManagedView): number => (key.identity === identity ? 0 : 1);
    return this.filter((view) => view.isLingering && holderOf(view.key.identity).tenant === tenant).sort(
      (a, b) => isOwn(a) - isOwn(b) || a.usedAt - b.usedAt,
    );
  }
}
