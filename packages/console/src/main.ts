import { follow, takeKey } from './connection.ts';
import { badge, button, fill, h, notice } from './dom.ts';
import type { Context, OpenPage, Page } from './page.ts';
import { mapPage } from './pages/map.ts';
import { type Changed, Store } from './store.ts';
import type { Hello, SourceState } from './wire.ts';

interface Place {
  label: string;
  open: OpenPage;
}

const PLACES: Readonly<Record<string, Place>> = {
  map: { label: 'Map', open: mapPage },
};

class Console {
  readonly #store = new Store();
  readonly #main = h('main', { id: 'main', tabindex: '-1' });
  readonly #nav = h('ul');
  readonly #status = h('div', { class: 'status' });
  readonly #notices = h('div', { role: 'status' });
  #hello: Hello | undefined;
  #sources: readonly SourceState[] = [];
  #connection: 'connecting' | 'connected' | 'interrupted' = 'connecting';
  #page: Page | undefined;

  readonly #context: Context = {
    store: this.#store,
    hello: () => this.#hello,
    sources: () => this.#sources,
    isLoading: (...kinds) =>
      this.#sources.length === 0 ||
      this.#sources.some(({ kind, state }) => kinds.includes(kind) && state === 'loading'),
  };

  start(root: HTMLElement, key: string): void {
    const theme = button('Theme', switchTheme, { title: 'Switch between light and dark' });
    fill(
      root,
      h('a', { class: 'skip', href: '#main' }, 'Skip to content'),
      h(
        'header',
        { class: 'top' },
        h('div', { class: 'brand' }, h('img', { src: '/icon.svg', alt: '' }), 'Tidegate'),
        h('nav', { 'aria-label': 'Pages' }, this.#nav),
        h('div', { class: 'status' }, this.#status, theme),
      ),
      this.#main,
    );
    root.querySelector('.skip')?.addEventListener('click', (event) => {
      event.preventDefault();
      this.#main.focus();
    });
    addEventListener('hashchange', () => this.#open());
    addEventListener('keydown', focusSearch);
    this.#open();
    follow('/api/events', key, this.#store, {
      hello: (hello) => {
        this.#hello = hello;
        this.#refresh(undefined);
      },
      changed: (changed) => this.#refresh(changed),
      sources: (states) => {
        this.#sources = states;
        this.#refresh(undefined);
      },
      connection: (state) => {
        this.#connection = state;
        this.#showStatus();
      },
    });
  }

  #open(): void {
    const [name = '', ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decode);
    const key = Object.hasOwn(PLACES, name) ? name : 'map';
    const place = PLACES[key]!;
    this.#page?.close?.();
    this.#page = place.open(this.#context, parts);
    document.title = `${this.#page.title} · Tidegate console`;
    fill(
      this.#nav,
      ...Object.entries(PLACES).map(([id, { label }]) => {
        const current = id === key ? 'page' : undefined;
        return h('li', {}, h('a', { href: `#/${id}`, 'aria-current': current }, label));
      }),
    );
    fill(this.#main, this.#notices, this.#page.element);
    this.#refresh(undefined);
  }

  #refresh(changed: Changed | undefined): void {
    this.#page?.update(changed);
    if (changed === undefined) this.#showStatus();
  }

  #showStatus(): void {
    const failed = this.#sources.filter(({ state }) => state === 'failed');
    const isLive = this.#connection === 'connected';
    const text = isLive ? (failed.length > 0 ? 'partly live' : 'live') : this.#connection;
    fill(this.#status, badge(!isLive || failed.length > 0 ? 'warn' : 'good', text));
    fill(
      this.#notices,
      this.#connection === 'interrupted' &&
        notice(
          'bad',
          'The connection to the console is interrupted. What you see is the last known state.',
          'Is `tidegate console` still running? If it was started again, open the address that it printed.',
        ),
      failed.length > 0 &&
        notice(
          'warn',
          `Cannot read: ${failed.map(({ kind }) => `${kind}s`).join(', ')}.`,
          ...new Set(failed.map(({ message = '' }) => message)),
        ),
    );
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function switchTheme(): void {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).getPropertyValue('color-scheme') === 'dark';
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const wasDark = root.dataset.theme === undefined ? systemIsDark : isDark;
  root.dataset.theme = wasDark ? 'light' : 'dark';
}

/** `/` moves the focus to the search field of the page. */
function focusSearch(event: KeyboardEvent): void {
  const { target } = event;
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLInputElement) return;
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field === null) return;
  event.preventDefault();
  field.focus();
}

new Console().start(document.getElementById('app')!, takeKey());
