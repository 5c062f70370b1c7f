/** Requests that are meant to break the server: names of inherited fields, and small texts that describe huge values. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HostileServer, startHostileServer } from '../support/hostile-server.ts';

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.stop());

/** The names that every object inherits, and some that look like instructions. */
const KEYS = [...Object.getOwnPropertyNames(Object.prototype), '__proto__', 'prototype', 'then', 'toJSON'];
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
let count = 0;
const fresh = (): string => `hostile-${++count}`;
const stringsBy = (keys: readonly string[], value: string): string =>
  `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`;
const dataOf = (text: string): string => JSON.stringify(Object.entries(JSON.parse(text).data ?? {}).sort());
const entries = (keys: readonly string[], value: string): string =>
  JSON.stringify(keys.map((key) => [key, value]).sort());

describe('keys that users choose', () => {
  it('are stored, changed, applied and removed whatever they are called', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 4 }),
        async (keys) => {
          const name = fresh();
          const path = `${CONFIG_MAPS}/${name}`;
          const head = `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"}`;
          const created = await server.send('POST', CONFIG_MAPS, `{${head},"data":${stringsBy(keys, 'a')}}`);
          expect([created.code, dataOf(created.text)]).toEqual([201, entries(keys, 'a')]);
          const steps: [type: string, body: string, value: string][] = [
            ['merge-patch+json', `{"data":${stringsBy(keys, 'b')}}`, 'b'],
            ['strategic-merge-patch+json', `{"data":${stringsBy(keys, 'c')}}`, 'c'],
            [
              'json-patch+json',
              JSON.stringify(keys.map((key) => ({ op: 'replace', path: `/data/${key}`, value: 'd' }))),
              'd',
            ],
            ['apply-patch+yaml', `{${head},"data":${stringsBy(keys, 'e')}}`, 'e'],
          ];
          for (const [type, body, value] of steps) {
            const query = type.startsWith('apply') ? '?fieldManager=test&force=true' : '';
            const changed = await server.send('PATCH', `${path}${query}`, body, `application/${type}`);
            expect([type, changed.code, dataOf(changed.text)]).toEqual([type, 200, entries(keys, value)]);
          }
          const read = await server.send('GET', path);
          expect(dataOf(read.text)).toBe(entries(keys, 'e'));
          // A manager that no longer applies the keys removes them.
          const removed = await server.send(
            'PATCH',
            `${path}?fieldManager=test&force=true`,
            `{${head}}`,
            'application/apply-patch+yaml',
          );
          expect([removed.code, dataOf(removed.text)]).toEqual([200, '[]']);
        },
      ),
      { numRuns: 15 },
    );
  });

  it.each(KEYS)('%s names nothing in a path, a selector, an option or a type', async (key) => {
    const name = encodeURIComponent(key);
    const answers: [what: string, request: Promise<{ code: number; text: string }>, code: number][] = [
      ['subresource', server.send('GET', `${CONFIG_MAPS}/x/${name}`), 404],
      ['subresource of a pod', server.send('POST', `/api/v1/namespaces/default/pods/x/${name}`, '{}'), 404],
      ['resource', server.send('GET', `/api/v1/${name}`), 404],
      ['group', server.send('GET', `/apis/${name}/v1/x`), 404],
      ['version', server.send('GET', `/apis/apps/${name}/deployments`), 404],
      ['path', server.send('GET', `/${name}`), 404],
      ['openapi', server.send('GET', `/openapi/v3/apis/${name}`), 404],
      ['field selector', server.send('GET', `${CONFIG_MAPS}?fieldSelector=${name}%3Dx`), 400],
      ['label selector', server.send('GET', `${CONFIG_MAPS}?labelSelector=x%3Dy`), 200],
      ['kind', server.send('POST', CONFIG_MAPS, JSON.stringify({ apiVersion: 'v1', kind: key })), 400],
      ['type', server.send('POST', CONFIG_MAPS, '{}', key), 415],
      [
        'format',
        server.send('POST', `${CONFIG_MAPS}?fieldValidation=${name}`, '{"metadata":{"name":"x"}}'),
        422,
      ],
      ['propagation', server.send('DELETE', `${CONFIG_MAPS}/x?propagationPolicy=${name}`), 422],
    ];
    for (const [what, request, code] of answers) expect([what, (await request).code]).toEqual([what, code]);
  });

  it.each(KEYS.filter((key) => !key.startsWith('_')))(
    '%s is a label, an annotation, a resource and a selector like any other',
    async (key) => {
      const name = fresh();
      const pod = {
        metadata: { name, labels: { [key]: 'x' }, annotations: { [key]: 'y' } },
        spec: {
          nodeSelector: { [key]: 'z' },
          containers: [
            { name: key.toLowerCase(), image: 'i', resources: { limits: { [`a.io/${key}`]: '1' } } },
          ],
        },
      };
      const created = await server.send('POST', '/api/v1/namespaces/default/pods', JSON.stringify(pod));
      expect(created.code, created.text).toBe(201);
      expect(JSON.parse(created.text)).toMatchObject(pod);
      const names = async (selector: string): Promise<string[]> => {
        const list = await server.send('GET', `/api/v1/namespaces/default/pods?labelSelector=${selector}`);
        return (JSON.parse(list.text).items as { metadata: { name: string } }[]).map(
          (one) => one.metadata.name,
        );
      };
      expect(await names(key)).toEqual([name]);
      expect(await names(`!${key}`)).not.toContain(name);
      expect(
        (await server.send('DELETE', `/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`)).code,
      ).toBe(200);
    },
  );
});

describe('texts that describe huge values', () => {
  const nested = (depth: number, open: string, close: string): string =>
    open.repeat(depth) + close.repeat(depth);
  const bomb = Array.from({ length: 20 }, (_, i) =>
    i === 0 ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]' : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`,
  ).join('\n');
  const chain = Array.from({ length: 30 }, (_, i) =>
    i === 0
      ? `a0: &a0 ${nested(40, '[', ']')}`
      : `a${i}: &a${i} ${'['.repeat(40)}*a${i - 1}${']'.repeat(40)}`,
  ).join('\n');

  it.each([
    ['a deep list', 'json', `{"x":${nested(10_001, '[', ']')}}`, "invalid character '[' exceeded max depth"],
    [
      'a deep map',
      'json',
      `{"x":${nested(100_000, '{"a":', '}')}}`,
      "invalid character '{' exceeded max depth",
    ],
    ['brackets without end', 'json', '['.repeat(1_000_000), "invalid character '[' exceeded max depth"],
    ['a deep YAML list', 'yaml', `a: ${nested(100_000, '[', ']')}`, 'yaml: exceeded max depth of 500'],
    [
      'a deep YAML block',
      'yaml',
      Array.from({ length: 1200 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      'yaml: exceeded max depth of 500',
    ],
    ['YAML aliases that multiply', 'yaml', bomb, 'yaml: document contains excessive aliasing'],
    ['YAML aliases that nest', 'yaml', chain, 'yaml: exceeded max depth of 500'],
    [
      'thousands of YAML aliases',
      'yaml',
      `a: &a x\nb: [${'*a,'.repeat(2000)}]`,
      'yaml: document contains excessive aliasing',
    ],
    [
      'a YAML alias of a long text',
      'yaml',
      `a: &a ${'x'.repeat(100_000)}\nb: [${'*a,'.repeat(100)}]`,
      'yaml: document contains excessive aliasing',
    ],
    ['a YAML list that contains itself', 'yaml', 'a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['an unknown YAML alias', 'yaml', 'a: *b', 'yaml: unknown anchor'],
  ])('%s is answered with 400', async (_, format, body, message) => {
    const posted = await server.send('POST', CONFIG_MAPS, body, `application/${format}`);
    expect([posted.code, posted.text]).toEqual([
      400,
      expect.stringContaining(JSON.stringify(message).slice(1, -1)),
    ]);
    if (format !== 'yaml') return;
    const applied = await server.send(
      'PATCH',
      `${CONFIG_MAPS}/${fresh()}?fieldManager=test`,
      body,
      'application/apply-patch+yaml',
    );
    expect([applied.code, applied.text]).toEqual([
      400,
      expect.stringContaining('error decoding YAML: error converting YAML to JSON: yaml:'),
    ]);
  });

  it('YAML with more tokens than the server reads is answered with 413', async () => {
    const answer = await server.send('POST', CONFIG_MAPS, `a: [${'1,'.repeat(300_000)}]`, 'application/yaml');
    expect([answer.code, answer.text]).toEqual([413, expect.stringContaining('send it as JSON')]);
  });

  it('a deep patch is answered with 400, and one that doubles the object with 422', async () => {
    const name = fresh();
    const path = `${CONFIG_MAPS}/${name}`;
    await server.send(
      'POST',
      CONFIG_MAPS,
      JSON.stringify({ metadata: { name }, data: { a: 'x'.repeat(1000) } }),
    );
    const deep = nested(100_000, '{"a":', '}').replace('}', '1}');
    for (const [type, body] of [
      ['merge', `{"x":${deep}}`],
      ['strategic-merge', `{"x":${deep}}`],
      ['json', `[{"op":"add","path":"/x","value":${deep}}]`],
    ])
      expect((await server.send('PATCH', path, body, `application/${type}-patch+json`)).code).toBe(400);
    const copies = Array.from({ length: 25 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/k${i}` }));
    const doubled = await server.send('PATCH', path, JSON.stringify(copies), 'application/json-patch+json');
    expect(doubled.code).toBe(422);
    expect(JSON.parse((await server.send('GET', path)).text).data).toEqual({ a: 'x'.repeat(1000) });
  });

  it('a YAML document with a few aliases is read as ever', async () => {
    const name = fresh();
    const body = `metadata: {name: ${name}, labels: &l {a: b}, annotations: {<<: *l, c: d}}\n`;
    const answer = await server.send('POST', CONFIG_MAPS, body, 'application/yaml');
    expect([answer.code, JSON.parse(answer.text).metadata]).toMatchObject([
      201,
      { labels: { a: 'b' }, annotations: { a: 'b', c: 'd' } },
    ]);
  });
});
