/** `tidegate sysdump` contains what a bug report needs, and no secret. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { CLOSED_PORTS } from '../support/ports.ts';
import { finish } from '../support/process.ts';
import { PROGRAM } from '../support/repository.ts';

let server: EmbeddedWithKinds;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
});
afterAll(() => server.stop());

const PASSWORD = 'hunter22-in-the-open';
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJlMTIzNA';
const PIN = 7_331_733_117;
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n';

it('collects objects without Secret data, tokens and keys', async () => {
  const inSystem = { namespace: 'tidegate-system' };
  const container = {
    name: 'manager',
    image: 'tidegate',
    env: [{ name: 'DATABASE', value: PASSWORD }],
    args: [`--password=${PASSWORD}`, '-c', PASSWORD],
  };
  const deployment = (namespace: string): KubeObject =>
    ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'app', namespace },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
      },
    }) as KubeObject;
  await new Kubectl(server.kubeconfig).apply(
    ...['tidegate-system', 'tidegate-routers'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tidegate-webhook', ...inSystem },
      stringData: { key: KEY, password: PASSWORD },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'notes', ...inSystem },
      data: { text: `the token is ${TOKEN}\n${KEY}`, yaml: `password: |\n  ${PASSWORD}\n` },
    },
    deployment('tidegate-routers'),
    // A program of an administrator beside the manager.
    deployment('tidegate-system'),
    {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name: 'shop', namespace: 'default' },
      spec: {
        workloadTemplate: {
          manifests: [
            { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'till' }, stringData: { pin: PASSWORD } },
            {
              apiVersion: 'example.com/v1',
              kind: 'Till',
              metadata: { name: 'till' },
              password: PIN,
              users: [PIN],
            },
          ],
        },
        workloadScope: { targetNodeGroups: [] },
      },
    },
  );
  const directory = join(server.directory, 'dump');
  const { code, stderr } = await finish([
    process.execPath,
    PROGRAM,
    ...['sysdump', '--directory', directory, '--kubeconfig', server.kubeconfig],
  ]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const files = readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((file) => statSync(file).isFile());
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  expect(text).toContain('"name": "shop"');
  expect(text).toContain('"name": "notes"');
  expect(text).toContain('"tidegate":');
  expect(text).not.toContain(PASSWORD);
  expect(text).not.toContain(Buffer.from(PASSWORD).toString('base64'));
  expect(text).not.toContain(TOKEN);
  expect(text).not.toContain(String(PIN));
  expect(text).not.toContain('MIIEvQIBADANBgkqhkiG9w0BAQEFAASC');
  expect(files.filter((file) => statSync(file).mode & 0o077)).toEqual([]);
});

it('fails and names what it could not read if the API server does not answer', async () => {
  const directory = join(server.directory, 'unreachable');
  const kubeconfig = join(server.directory, 'closed.kubeconfig');
  const text = readFileSync(server.kubeconfig, 'utf8');
  writeFileSync(kubeconfig, text.replace(/(https?:\/\/[^:"]+):\d+/, `$1:${CLOSED_PORTS[0]}`));
  const { code, stderr } = await finish([
    ...[process.execPath, PROGRAM, 'sysdump', '--kubeconfig', kubeconfig, '--directory', directory],
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/\d+ of them say why something could not be read: version\.json\.error, /);
});
