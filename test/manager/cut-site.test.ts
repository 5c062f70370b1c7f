/** The webhook at a site: it is started again while its link is cut, with what the hub of its node has stored. */
import { fixedCredential, KubeClient } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import { Kubectl } from '../support/kubectl.ts';
import { linesLogger } from '../support/lines-logger.ts';
import { reservePort } from '../support/ports.ts';
import { authorizationOf, DEPLOY, startManager, webhookObjects } from './support.ts';

let edge: Edge;
beforeAll(async () => {
  edge = await Edge.start();
});
afterAll(() => edge.stop());

it('becomes ready without a link, also if the hub was killed', async () => {
  const kubectl = new Kubectl(edge.server.kubeconfig);
  await kubectl.run(`apply --server-side -k ${DEPLOY}/base`);
  await kubectl.run('delete validatingwebhookconfiguration,mutatingwebhookconfiguration tidegate');
  const webhook = { host: '127.0.0.1', port: await reservePort() };
  await kubectl.apply(...(await webhookObjects(`https://127.0.0.1:${webhook.port}`)));
  const authorization = await authorizationOf(edge.admin, 'tidegate-admission');
  const connect = (): KubeClient =>
    new KubeClient({
      ...edge.admin.config,
      server: `https://127.0.0.1:${edge.ports.https}`,
      credentials: fixedCredential({ authorization }),
    });
  const log = linesLogger();
  const start = async (): Promise<() => Promise<void>> => {
    const client = connect();
    const options = { parts: ['admission' as const], installDefinitions: false, webhook, log };
    const manager = await startManager(client, options);
    return async () => {
      await manager.stop();
      await client.close();
    };
  };
  const stopFirst = await start();
  await stopFirst();
  log.lines.length = 0;
  await edge.cut();
  await edge.killHub();
  const stopSecond = await start();
  await stopSecond();
  expect(log.lines.filter((line) => line.includes('cannot configure the admission webhook'))).toEqual([]);
});
