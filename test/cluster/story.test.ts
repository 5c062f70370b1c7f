/** The objects of the example, on a machine on which the API server and the webhooks are short of CPU time. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_MAPS, fixedCredential, KubeClient, statusOf } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStory } from '../../packages/tidegate/src/supervisor/story.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Front } from '../support/front.ts';

let server: EmbeddedWithKinds;
let front: Front;
let client: KubeClient;
let directory: string;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  const { config } = server.client;
  front = new Front(server.url, config.ca ?? '', await config.credentials.current());
  const url = `http://127.0.0.1:${await front.listen()}`;
  client = new KubeClient({ ...config, server: url, credentials: fixedCredential({}) });
  directory = await mkdtemp(join(tmpdir(), 'story-'));
});
afterAll(async () => {
  await client.close();
  await front.close();
  await server.stop();
  await rm(directory, { recursive: true });
});

test('the example is created although the first attempts fail', async () => {
  const configMap = (name: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: b}\n`;
  await writeFile(join(directory, '1.yaml'), `${configMap('one')}---\n${configMap('two')}`);
  const late =
    'admission webhook "x" denied the request: the evaluation of the object took longer than 4000 ms';
  const lies: ((response: Parameters<Front['lie']>[1]) => void)[] = [
    (response) =>
      response
        .writeHead(504, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...statusOf(504, late), reason: 'Timeout' })),
    (response) => response.destroy(),
  ];
  front.lie = ({ method }, response) => {
    const lie = method === 'POST' ? lies.shift() : undefined;
    lie?.(response);
    return lie !== undefined;
  };
  const lines: string[] = [];
  await createStory(client, {
    directory,
    isFree: async () => true,
    report: (line) => lines.push(line),
    signal: new AbortController().signal,
  });
  expect(lines).toEqual([`cannot create ConfigMap one yet: ${late}; trying again`]);
  const names = (await client.list(CONFIG_MAPS, { namespace: 'default' })).items.map(
    ({ metadata }) => metadata.name,
  );
  expect(names).toEqual(expect.arrayContaining(['one', 'two']));
});
