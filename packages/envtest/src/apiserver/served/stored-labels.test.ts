import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storedLabels } from './stored-labels.ts';

const labelsOf = (object: unknown): unknown => storedLabels(Buffer.from(JSON.stringify(object)));

describe('labels of stored objects', () => {
  it('are found wherever metadata and labels are', () => {
    const labels = { app: 'web', 'example.com/tier': 'a' };
    expect(labelsOf({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a', labels } })).toEqual(labels);
    expect(labelsOf({ alpha: [{ b: 1 }], metadata: { annotations: { note: '{' }, labels } })).toEqual(labels);
    expect(labelsOf({ metadata: { labels: {} } })).toEqual({});
  });

  it('are only those of the object itself', () => {
    const template = { metadata: { labels: { app: 'template' } } };
    expect(labelsOf({ kind: 'Deployment', metadata: { name: 'a' }, spec: { template } })).toBeUndefined();
    expect(labelsOf({ data: template, metadata: { labels: { app: 'own' } } })).toEqual({ app: 'own' });
    expect(labelsOf({ labels: { app: 'top' }, metadata: { name: 'a' } })).toBeUndefined();
    expect(
      labelsOf({ metadata: { managedFields: [{ labels: { a: 'b' } }] }, status: { labels: { c: 'd' } } }),
    ).toBeUndefined();
  });

  it('are not read from text that looks like them', () => {
    const text = '"metadata":{"labels":{"app":"x"}},';
    expect(labelsOf({ data: { a: text, b: `\\${text}` }, metadata: { name: text } })).toBeUndefined();
    expect(
      labelsOf({ data: `${text}\\`, metadata: { annotations: { [text]: text }, labels: { a: text } } }),
    ).toEqual({
      a: text,
    });
  });

  it('are read correctly if their texts have braces, escapes or other characters', () => {
    for (const text of ['}', '{', '"}', '\\', '"', 'é', '日本', '\n', ',']) {
      expect(labelsOf({ metadata: { name: 'a', labels: { a: text, b: 'c' } } })).toEqual({ a: text, b: 'c' });
      expect(labelsOf({ metadata: { name: 'a', labels: { [text]: 'a' } } })).toEqual({ [text]: 'a' });
      expect(labelsOf({ metadata: { name: text, labels: { a: 'b' } } })).toEqual({ a: 'b' });
      expect(labelsOf({ kind: text, metadata: { name: 'a' }, labels: { a: 'b' } })).toBeUndefined();
    }
  });

  it('are read from long objects and from many different ones', () => {
    const long = { a: 'x'.repeat(3000), b: 'y' };
    expect(labelsOf({ metadata: { name: 'a', labels: long }, spec: {} })).toEqual(long);
    expect(labelsOf({ metadata: { annotations: long, labels: { c: 'd' } } })).toEqual({ c: 'd' });
    for (let i = 0; i < 2500; i++) {
      const labels = { group: `g-${i % 1200}` };
      expect(labelsOf({ metadata: { name: `n-${i}`, labels } })).toEqual(labels);
    }
  });

  it('are absent if the field is null or missing', () => {
    expect(labelsOf({ metadata: { labels: null } })).toBeUndefined();
    expect(labelsOf({ metadata: {} })).toBeUndefined();
    expect(labelsOf({ metadata: null })).toBeUndefined();
    expect(labelsOf({ kind: 'List' })).toBeUndefined();
    expect(labelsOf({})).toBeUndefined();
  });

  it('equal those of the decoded object for any content', () => {
    // Objects whose keys are often the ones that are searched for, and whose texts have quotes, braces and backslashes.
    const text = fc.oneof(
      fc.constantFrom('labels', 'metadata', '"labels":{', '\\', '"', '{', '}', '[', ',', 'é', '日本', '\n'),
      fc.string(),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.constantFrom(null, true, false, 0, -1.5, 1e21),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(text, tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    const labels = fc.dictionary(text, text, { maxKeys: 4 });
    const metadata = fc
      .tuple(
        fc.dictionary(text, value, { maxKeys: 3 }),
        fc.option(labels),
        fc.dictionary(text, value, { maxKeys: 3 }),
      )
      .map(([before, own, after]) => ({ ...before, ...(own && { labels: own }), ...after }));
    const object = fc
      .tuple(fc.dictionary(text, value, { maxKeys: 3 }), metadata, fc.dictionary(text, value, { maxKeys: 3 }))
      .map(([before, meta, after]) => ({ ...before, metadata: meta, ...after }));
    fc.assert(
      fc.property(object, (made) => {
        const decoded = JSON.parse(JSON.stringify(made)) as { metadata?: { labels?: unknown } };
        const expected = decoded.metadata?.labels;
        const isMap = typeof expected === 'object' && expected !== null && !Array.isArray(expected);
        const owned = !Array.isArray(decoded.metadata) && typeof decoded.metadata === 'object' && isMap;
        expect(labelsOf(made)).toEqual(owned ? expected : undefined);
      }),
      { numRuns: 500 },
    );
  });
});
