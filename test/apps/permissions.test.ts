/** Applications with the permissions of deploy/base/apps.yaml only: what the manager may not do never blocks the rest. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runControllers } from '@tidegate/envtest/controllers';
import {
  CONFIG_MAPS,
  fixedCredential,
  KubeClient,
  loadConfig,
  Metrics,
  NAMESPACES,
  ROLE_BINDINGS,
  SECRETS,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { EDGE_APPLICATIONS } from '../../packages/tidegate/src/api/index.ts';
import { authorizationOf } from '../manager/support.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';
import { application, configMap, entryOf, observe, runApplications } from './support.ts';

const secret = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { word: 'sesame' },
});

describe('an application with an object that the manager may not apply', () => {
  let server: EmbeddedWithKinds;
  let admin: KubeClient;
  let kubectl: Kubectl;
  let account: KubeClient;
  let endApplications: () => Promise<void>;
  let controllers: Promise<void>;
  const stop = new AbortController();

  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    admin = server.client;
    kubectl = new Kubectl(server.kubeconfig);
    controllers = runControllers({
      client: admin,
      clusterCidr: '127.100.0.0/16',
      nodeGraceMs: 600_000,
      log: silentLogger,
      metrics: new Metrics(),
      signal: stop.signal,
    });
    await kubectl.run('create namespace tidegate-system');
    const shipped = readFileSync(join(import.meta.dirname, '../../deploy/base/apps.yaml'), 'utf8');
    await kubectl.apply(...parseAllDocuments(shipped).map((document) => document.toJS() as object));
    await eventually(async () => {
      const { rules } = await kubectl.json<{ rules?: unknown[] }>('get clusterrole tidegate-apps');
      return (rules ?? []).length > 0 || undefined;
    });
    const config = await loadConfig({ path: server.kubeconfig, env: {} });
    const authorization = await authorizationOf(admin, 'tidegate-apps');
    account = new KubeClient({ ...config, credentials: fixedCredential({ authorization }) });
    endApplications = runApplications(account);
  });
  afterAll(async () => {
    await endApplications();
    stop.abort();
    await controllers;
    await account.close();
    await server.stop();
  });

  const newNamespace = async (namespace: string): Promise<ReturnType<typeof observe>> => {
    await kubectl.run(`create namespace ${namespace}`);
    await kubectl.run(
      `create rolebinding tidegate-apps -n ${namespace} --clusterrole tidegate-apps --serviceaccount tidegate-system:tidegate-apps`,
    );
    return observe(admin, namespace);
  };
  const allowSecrets = (namespace: string) =>
    kubectl.run(
      `create rolebinding secrets -n ${namespace} --clusterrole cluster-admin --serviceaccount tidegate-system:tidegate-apps`,
    );

  it('applies and repairs the other objects, and says which permission is missing', async () => {
    const { find, appears, isGone, readyBecomes } = await newNamespace('mixed');
    await admin.create(
      EDGE_APPLICATIONS,
      application('shop', [secret('word'), configMap('menu', { soup: '3' })], {}, 'mixed'),
    );
    const shop = await readyBecomes('shop', /False ApplyFailed: Secret mixed\/word/);
    expect(entryOf(shop, 'word')?.conditions?.[0]?.message).toContain(
      'kubectl create clusterrole tidegate-apps-secrets --verb=get,list,watch,create,patch,delete --resource=secrets',
    );
    expect(await find(CONFIG_MAPS, 'menu')).toBeDefined();
    await admin.delete(CONFIG_MAPS, { name: 'menu', namespace: 'mixed' });
    await appears(CONFIG_MAPS, 'menu');
    await admin.delete(EDGE_APPLICATIONS, { name: 'shop', namespace: 'mixed' });
    await isGone(EDGE_APPLICATIONS, 'shop');
    await isGone(CONFIG_MAPS, 'menu');
  });

  it('reports an object that it may no longer delete, and applies what is left of the application', async () => {
    const { appears, isGone, readyBecomes } = await newNamespace('revoked');
    await allowSecrets('revoked');
    await admin.create(
      EDGE_APPLICATIONS,
      application('shop', [secret('word'), configMap('menu', { soup: '3' })], {}, 'revoked'),
    );
    await readyBecomes('shop', /True/);
    await admin.delete(ROLE_BINDINGS, { name: 'secrets', namespace: 'revoked' });
    await admin.patch(EDGE_APPLICATIONS, { name: 'shop', namespace: 'revoked' }, 'merge', {
      spec: { workloadTemplate: { manifests: [configMap('menu', { soup: '4' })] } },
    });
    const shop = await readyBecomes('shop', /False DeleteFailed: Secret revoked\/word: .*secrets/);
    expect(entryOf(shop, 'menu')?.conditions?.[1]?.status).toBe('True');
    await appears(CONFIG_MAPS, 'menu', ({ data }) => data?.soup === '4');
    // With the permission again, the Secret is deleted.
    await allowSecrets('revoked');
    await isGone(SECRETS, 'word');
    await readyBecomes('shop', /True/);
  });

  it('is deleted, and names the objects that are left', async () => {
    const { find, isGone, readyBecomes } = await newNamespace('left');
    await kubectl.run('create namespace away');
    await allowSecrets('left');
    await allowSecrets('away');
    const away = { ...secret('word'), metadata: { name: 'word', namespace: 'away' } };
    await admin.create(EDGE_APPLICATIONS, application('shop', [away, configMap('menu')], {}, 'left'));
    await readyBecomes('shop', /True/);
    await admin.delete(ROLE_BINDINGS, { name: 'secrets', namespace: 'away' });
    await admin.delete(EDGE_APPLICATIONS, { name: 'shop', namespace: 'left' });
    await isGone(EDGE_APPLICATIONS, 'shop');
    await isGone(CONFIG_MAPS, 'menu');
    expect(await find(SECRETS, 'word', 'away')).toBeDefined();
    await eventually(async () => {
      const { items } = await kubectl.json<{ items: { message: string }[] }>(
        'get events -n left --field-selector reason=NotDeleted',
      );
      return items.some(({ message }) => message.includes('Secret away/word')) || undefined;
    });
  });

  it('does not hold its namespace, whose role bindings are deleted first', async () => {
    const { isGone, readyBecomes } = await newNamespace('ending');
    await allowSecrets('ending');
    await admin.create(
      EDGE_APPLICATIONS,
      application('shop', [secret('word'), configMap('menu')], {}, 'ending'),
    );
    await readyBecomes('shop', /True/);
    for (const name of ['secrets', 'tidegate-apps'])
      await admin.delete(ROLE_BINDINGS, { name, namespace: 'ending' });
    await admin.delete(NAMESPACES, { name: 'ending' });
    await isGone(NAMESPACES, 'ending');
  });
});
