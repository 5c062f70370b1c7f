import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isNotFound,
  KubeClient,
  type KubeObject,
  loadConfig,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { APIService } from '../resources/aggregation/apiservice.ts';
import { startApiServer } from '../server.ts';

const SERVICES: Resource<APIService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  resource: 'apiservices',
  namespaced: false,
};
const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const definition = (plural: string, ...versions: string[]): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural },
    versions: versions.map((name, i) => ({
      name,
      served: true,
      storage: i === 0,
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
  },
});

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let client: KubeClient;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-apiservices-'));
  await start();
});
afterAll(async () => {
  await stop();
  await rm(directory, { recursive: true, force: true });
});

async function start(): Promise<void> {
  server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  server.writeAdminKubeconfig(join(directory, 'admin'));
  client = new KubeClient(await loadConfig({ path: join(directory, 'admin'), env: {} }));
}

async function stop(): Promise<void> {
  await client.close();
  await server.close();
}

const soon = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 240_000, interval: 20 });

/** The message of the condition of an APIService, once it has one. */
const available = (name: string): Promise<string | undefined> =>
  soon(async () => {
    const { status } = await client.get(SERVICES, { name });
    const condition = status.conditions?.find(({ type }) => type === 'Available');
    expect(condition).toBeDefined();
    return `${condition?.status}: ${condition?.message}`;
  });

const isGone = (name: string): Promise<void> =>
  soon(() => expect(client.get(SERVICES, { name })).rejects.toSatisfy(isNotFound));

const LOCAL = 'True: Local APIServices are always available';

it('every group and version of the server has one, and it is available', async () => {
  for (const name of ['v1.', 'v1.apps', 'v1.apiregistration.k8s.io'])
    expect(await available(name)).toBe(LOCAL);
});

it('follow the versions that CustomResourceDefinitions serve', async () => {
  await client.create(DEFINITIONS, definition('ones', 'v1'));
  await client.create(DEFINITIONS, definition('twos', 'v1', 'v2'));
  expect(await available('v1.example.com')).toBe(LOCAL);
  expect(await available('v2.example.com')).toBe(LOCAL);
  await client.delete(DEFINITIONS, { name: 'twos.example.com' });
  await isGone('v2.example.com');
  // Another definition still serves it.
  expect(await available('v1.example.com')).toBe(LOCAL);
});

it('are created again when a user deletes them', async () => {
  const { metadata } = await client.get(SERVICES, { name: 'v1.example.com' });
  await client.delete(SERVICES, { name: 'v1.example.com' });
  await soon(async () => {
    const again = await client.get(SERVICES, { name: 'v1.example.com' });
    expect(again.metadata.uid).not.toBe(metadata.uid);
  });
  expect(await available('v1.example.com')).toBe(LOCAL);
});

it('one of another server is not available', async () => {
  await client.create(SERVICES, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.far.example.com' },
    spec: {
      group: 'far.example.com',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      service: { namespace: 'default', name: 'far' },
      insecureSkipTLSVerify: true,
    },
  } as unknown as APIService);
  expect(await available('v1.far.example.com')).toMatch(/^False: the embedded API server does not forward/);
});

it('are right after a restart during which nothing changed, and follow changes from then on', async () => {
  await stop();
  await start();
  expect(await available('v1.example.com')).toBe(LOCAL);
  await client.delete(DEFINITIONS, { name: 'ones.example.com' });
  await isGone('v1.example.com');
  expect(await available('v1.apps')).toBe(LOCAL);
});
