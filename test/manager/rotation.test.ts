/** Rotates the certificates of the webhook over half a year: API servers can verify it at all times. */

import { connect } from 'node:tls';
import { CONFIG_MAPS, KubeClient, loadConfig, NAMESPACES, SECRETS, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWebhook } from '../../packages/tidegate/src/admission/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { VALIDATING_CONFIGURATIONS } from './support.ts';

const HOUR = 3_600_000;
const HALF_A_YEAR = 184 * 24 * HOUR;
const MINUTE = 60_000;
const secret = { namespace: 'system', name: 'webhook' };

let server: Embedded;
let client: KubeClient;
beforeAll(async () => {
  server = await startEmbedded();
  client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'system' } });
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

interface Configuration {
  webhooks: { clientConfig: { caBundle: string; url: string } }[];
}
const clientConfig = async (): Promise<{ url: string; bundle: string }> => {
  const configuration = (await client.get(VALIDATING_CONFIGURATIONS, {
    name: 'tidegate',
  })) as unknown as Configuration;
  const { url = '', caBundle = '' } = configuration.webhooks[0]?.clientConfig ?? {};
  return { url, bundle: Buffer.from(caBundle, 'base64').toString() };
};
const authoritiesIn = (bundle: string): number => bundle.match(/BEGIN CERTIFICATE/g)?.length ?? 0;

/** The issuer of the certificate that a new connection gets. */
const issuerAt = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    // By the real clock, the certificate may have expired or not be valid yet.
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().issuer.CN);
      socket.destroy();
    });
    socket.once('error', reject);
  });

it('API servers trust a new authority before it signs', async () => {
  // Chosen so that the new authority takes over shortly before now.
  const clock = new VirtualClock(Date.now() - HALF_A_YEAR - 2 * HOUR);
  const minuteByMinute = <T>(look: () => Promise<T | false>): Promise<T> =>
    eventually(async () => {
      await clock.advance(MINUTE);
      return look();
    });
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  await new Promise<void>((ready, failed) => {
    running = runWebhook(
      {
        client,
        host: '127.0.0.1',
        port: 0,
        rules: [
          {
            group: '',
            versions: ['v1'],
            resource: 'configmaps',
            scope: 'Namespaced',
            operations: ['CREATE'],
            failurePolicy: 'Ignore',
            evaluate: () => ({ forbidden: 'rejected by the test rule' }),
          },
        ],
        secret,
        installs: true,
        fieldManager: 'test',
        clock,
        log: silentLogger,
        onReady: ready,
      },
      stop.signal,
    );
    running.catch(failed);
  });
  const { url, bundle } = await clientConfig();
  expect(authoritiesIn(bundle)).toBe(1);
  const firstIssuer = await issuerAt(url);

  await clock.advance(HALF_A_YEAR);
  const both = await minuteByMinute(async () => {
    const { bundle } = await clientConfig();
    return authoritiesIn(bundle) === 2 && bundle;
  });
  expect(both).toContain(bundle);
  expect(await issuerAt(url)).toBe(firstIssuer);

  await minuteByMinute(async () => (await issuerAt(url)) !== firstIssuer);
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'system' } };
  await expect(client.create(CONFIG_MAPS, map)).rejects.toThrow('rejected by the test rule');

  // A damaged Secret is created again, and the CA bundle follows.
  await client.patch(SECRETS, secret, 'merge', { data: { 'ca.key': null } });
  await minuteByMinute(async () => {
    const { bundle } = await clientConfig();
    return authoritiesIn(bundle) === 1 && !both.includes(bundle);
  });
  await eventually(() =>
    client.create(CONFIG_MAPS, map).then(
      () => false,
      (error) => /rejected by the test rule/.test(error),
    ),
  );
  stop.abort();
  await running;
});
