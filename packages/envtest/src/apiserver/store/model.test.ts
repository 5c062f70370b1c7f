import { temporaryDirectory } from '@tidegate/disk/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from './table.ts';
import { line, openTestStore } from './testing.ts';
import type { Entry, Store } from './types.ts';

/** A simple model of the store: every past state and every change. */
class Model {
  readonly states: Map<string, string>[] = [new Map(), new Map()];
  readonly changes: { revision: number; line: string; namespace: string; name: string }[] = [];

  get revision(): number {
    return this.states.length - 1;
  }

  write(namespace: string, name: string, text: string | undefined): void {
    const key = `${namespace}/${name}`;
    const state = new Map(this.states.at(-1));
    const before = state.get(key);
    if (text === undefined) {
      if (before === undefined) return;
      state.delete(key);
    } else state.set(key, text);
    this.states.push(state);
    const revision = this.revision;
    const line = `${revision} ${text === undefined ? 'delete' : 'put'} ${key}=${text ?? before}`;
    this.changes.push({ revision, line, namespace, name });
  }

  list(revision: number, namespace: string | undefined): string[] {
    const state = this.states[revision] ?? new Map<string, string>();
    const keys = [...state.keys()].filter(
      (key) => namespace === undefined || key.startsWith(`${namespace}/`),
    );
    return keys
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map((key) => `${key}=${state.get(key)}`);
  }

  changesAfter(revision: number, namespace: string | undefined, name: string | undefined): string[] {
    return this.changes
      .filter((change) => change.revision > revision)
      .filter((change) => namespace === undefined || change.namespace === namespace)
      .filter((change) => name === undefined || change.name === name)
      .map((change) => change.line);
  }
}

const namespaces = fc.constantFrom('a', 'a-b', 'ab');
const objectNames = fc.constantFrom('m', 'n', 'n-1');
const write = fc.record({
  namespace: namespaces,
  name: objectNames,
  text: fc.option(fc.string(), { nil: undefined }),
});
const filter = {
  namespace: fc.option(namespaces, { nil: undefined }),
  name: fc.option(objectNames, { nil: undefined }),
  /** How far back, as a fraction of what is kept. */
  age: fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
};
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      writes: fc.array(write, { minLength: 1, maxLength: 8, size: 'max' }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('list' as const),
      limit: fc.integer({ min: 1, max: 6 }),
      ...filter,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('watch' as const), ...filter }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const) }) },
);

const shown = (entries: readonly Entry[]) =>
  entries.map((entry) => `${entry.namespace}/${entry.name}=${entry.value}`);

function apply(store: Store, { namespace, name, text }: { namespace: string; name: string; text?: string }) {
  return store.write({ resource: 'pods', namespace, name }, (current) =>
    text === undefined
      ? { type: 'delete', value: current?.value ?? Buffer.alloc(0) }
      : { type: 'put', value: Buffer.from(text) },
  );
}

/** Lists page by page and checks `remaining` against the entries that follow. */
function listByPages(
  store: Store,
  options: { namespace?: string; revision: number; limit: number },
): string[] {
  const pages: Entry[][] = [];
  const remaining: number[] = [];
  let after: Entry | undefined;
  do {
    const page = store.list('pods', { ...options, after });
    pages.push(page.entries);
    remaining.push(page.remaining);
    after = page.entries.at(-1);
  } while (remaining.at(-1)! > 0);
  const behind = pages.map((_, index) => pages.slice(index + 1).flat().length);
  expect(remaining).toEqual(behind);
  return shown(pages.flat());
}

describe('the store and its model', () => {
  it('agree on every list and watch, also after restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
        const options = { directory: await temporaryDirectory(), historySize: 40, snapshotBytes: 200 };
        let store = await openTestStore(options);
        const model = new Model();
        const watches: { actual: string[]; expected: () => string[] }[] = [];
        const kept = (age: number) =>
          Math.round(store.revision - age * (store.revision - store.compactedRevision));
        for (const current of steps) {
          if (current.type === 'write') {
            for (const one of current.writes) model.write(one.namespace, one.name, one.text);
            await Promise.all(current.writes.map((one) => apply(store, one)));
          } else if (current.type === 'list') {
            const { namespace, limit } = current;
            const revision = kept(current.age);
            expect(listByPages(store, { namespace, revision, limit })).toEqual(
              model.list(revision, namespace),
            );
          } else if (current.type === 'watch') {
            const { namespace, name } = current;
            const fromRevision = kept(current.age);
            const actual: string[] = [];
            store.watch('pods', { namespace, name, fromRevision }, (changes) =>
              actual.push(...changes.map(line)),
            );
            watches.push({ actual, expected: () => model.changesAfter(fromRevision, namespace, name) });
          } else {
            await store.close();
            for (const { actual, expected } of watches.splice(0)) expect(actual).toEqual(expected());
            store = await openTestStore(options);
          }
          expect(store.revision).toBe(model.revision);
          expect(shown(store.list('pods').entries)).toEqual(model.list(model.revision, undefined));
          expect(store.count('pods')).toBe(model.states.at(-1)!.size);
        }
        for (const { actual, expected } of watches) expect(actual).toEqual(expected());
        await store.close();
      }),
      { numRuns: 40 },
    );
  });

  it('order keys by the bytes of namespace/name', () => {
    const part = fc.stringMatching(/^[a-c0.-]{1,4}$/);
    const key = fc.record({ namespace: part, name: part });
    fc.assert(
      fc.property(key, key, (a, b) => {
        const bytes = (one: typeof a) => Buffer.from(`${one.namespace}/${one.name}`);
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(bytes(a), bytes(b)));
      }),
    );
  });
});
