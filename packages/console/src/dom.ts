/** Builds elements. Text of the cluster becomes text nodes and attributes, never HTML, so it cannot become code. */

type Child = Node | string | undefined | false;

/** An attribute is set unless its value is undefined or false. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  element.append(...present(children));
  return element;
}

/** Replaces the content of an element. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...present(children));
}

const present = (children: readonly Child[]): (Node | string)[] =>
  children.filter((child): child is Node | string => child !== undefined && child !== false);

export function button(label: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', onClick);
  return element;
}

/** A search field. `/` moves the focus to it (main.ts). */
export function searchField(label: string, onInput: (text: string) => void): HTMLInputElement {
  const field = h('input', { type: 'search', 'aria-label': label, placeholder: label, autocomplete: 'off' });
  field.addEventListener('input', () => onInput(field.value.trim().toLowerCase()));
  return field;
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet';

/** A state: a symbol with a shape of its own for each tone, and words. Color alone carries nothing. */
export const badge = (tone: Tone, text: string): HTMLElement => h('span', { class: `badge ${tone}` }, text);

export const notice = (tone: Tone, ...lines: readonly string[]): HTMLElement =>
  h('div', { class: `notice ${tone}` }, ...lines.map((line) => h('p', {}, line)));

export const empty = (...lines: readonly string[]): HTMLElement =>
  h('div', { class: 'empty' }, ...lines.map((line) => h('p', {}, line)));
