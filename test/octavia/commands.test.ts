/** `tidegate manager --octavia` and `tidegate diff --router`, as a user runs them, with the real API of Octavia. */
import { Applier, INGRESSES, type KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { L7_ROUTERS } from '../../packages/tidegate/src/api/index.ts';
import { classObject, ingressObject, parametersObject } from '../ingress/support.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { type Finished, finish, TestProcess } from '../support/process.ts';
import { PROGRAM } from '../support/repository.ts';
import { OctaviaServer } from './support/octavia.ts';
import { PROJECT, SUBNET } from './support/routers.ts';

let server: OctaviaServer;
let cluster: EmbeddedWithKinds;
let manager: TestProcess;

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...{ OS_AUTH_TYPE: 'none', OS_ENDPOINT: server.url, OS_PROJECT_ID: PROJECT },
});

function startManager(): void {
  const command = [PROGRAM, 'manager', '--kubeconfig', cluster.kubeconfig, '--leader-elect=false'];
  const ports = ['--webhook-port', '0', '--admin-port', '0'];
  manager = new TestProcess([process.execPath, ...command, ...ports, '--octavia', 'test'], {
    env: environment(),
  });
}

const diff = (...args: string[]): Promise<Finished> =>
  finish([process.execPath, PROGRAM, 'diff', '--kubeconfig', cluster.kubeconfig, ...args], {
    env: environment(),
  });

const make = async (...objects: KubeObject[]): Promise<void> => {
  const applier = new Applier(cluster.client, 'test');
  for (const object of objects) await applier.apply(object);
};

/** Resolves when the router serves its current generation. */
const served = (): Promise<unknown> =>
  eventually(async () => {
    const { metadata, status } = await cluster.client.get(L7_ROUTERS, { name: 'gold' });
    return status?.appliedGeneration === metadata.generation;
  });

beforeAll(async () => {
  server = await OctaviaServer.start();
  cluster = await startEmbeddedWithKinds();
  startManager();
  for (const name of ['tidegate-system', 'shop'])
    await make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await make(
    parametersObject('gold', { subnetId: SUBNET, drainTime: '1s' }),
    classObject('gold', 'gold', 'tidegate.io/octavia'),
    ingressObject('a', 'gold', ['a.example.com']),
  );
  await eventually(async () => {
    const { status } = await cluster.client.get(INGRESSES, { namespace: 'shop', name: 'a' });
    return status?.loadBalancer?.ingress?.[0]?.ip;
  });
});
afterAll(async () => {
  await manager?.kill('SIGTERM');
  await cluster?.stop();
  await server?.stop();
});

it('prints nothing if the load balancer is as it should be', async () => {
  await served();
  expect(await diff('--router', 'gold', '--octavia', 'test')).toMatchObject({ code: 0, output: '' });
});

it('prints the calls that a change needs, and changes nothing', async () => {
  await manager.kill('SIGTERM');
  await cluster.client.patch(INGRESSES, { namespace: 'shop', name: 'a' }, 'json', [
    { op: 'replace', path: '/spec/rules/0/http/paths/0/path', value: '/moved' },
  ]);
  const planned = await diff('--router', 'gold', '--octavia', 'test');
  expect(planned).toMatchObject({ code: 1, stderr: '' });
  expect(planned.stdout).toMatch(/^\+ policy .*a\.example\.com.*\/moved/m);
  expect(planned.stdout).toMatch(/^- policy /m);
  expect(await diff('--router', 'gold', '--octavia', 'test')).toEqual(planned);
  startManager();
  await served();
  await eventually(async () => (await diff('--router', 'gold', '--octavia', 'test')).code === 0);
});

it.each([
  [['--router', 'silver', '--octavia', 'test'], 'L7Router silver does not exist'],
  [['--router', 'gold'], '--router needs --octavia, as the manager has it'],
])('diff %j says what is wrong', async (args, message) => {
  const { code, stderr } = await diff(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
