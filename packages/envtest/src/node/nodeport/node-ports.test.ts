import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  EventRecorder,
  Informers,
  type KubeObject,
  type Resource,
  SERVICES,
  type Service,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { NodePorts } from './node-ports.ts';

/** Each run uses other addresses, so that concurrent runs do not conflict. */
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESS = `${RANGE}.2`;
const EVENTS: Resource<KubeObject & { reason?: string; message?: string }> = {
  group: '',
  version: 'v1',
  resource: 'events',
  namespaced: true,
};
let cluster: TestCluster;
const stop = new AbortController();
let running: Promise<unknown>;
let recorder: EventRecorder;
const pods: Server[] = [];

beforeAll(async () => {
  cluster = await startTestCluster();
  const informers = new Informers(cluster.admin);
  recorder = new EventRecorder(cluster.admin, { component: 'kube-proxy' });
  const nodePorts = new NodePorts({
    nodeName: 'node-a',
    address: ADDRESS,
    services: informers.for(SERVICES),
    slices: informers.for(ENDPOINT_SLICES),
    recorder,
    log: silentLogger,
  });
  running = Promise.all([nodePorts.run(stop.signal), informers.run(stop.signal)]);
});

afterAll(async () => {
  stop.abort();
  await running;
  await recorder.close();
  for (const pod of pods) pod.close();
  await cluster.stop();
});

/** A server that sends its name and then echoes. */
async function pod(address: string): Promise<{ address: string; port: number; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(`${address}\n`);
    socket.pipe(socket);
  });
  server.listen(0, address);
  await once(server, 'listening');
  pods.push(server);
  return { address, port: (server.address() as AddressInfo).port, server };
}

async function service(name: string, spec: object = {}): Promise<{ nodePort: number; object: Service }> {
  const ports = [{ name: 'tcp', port: 80, ...(spec as { port?: object }).port }];
  const object = await cluster.admin.create<Service>(
    SERVICES,
    named('Service', name, { spec: { type: 'NodePort', ports } }),
  );
  return { nodePort: object.spec!.ports![0]!.nodePort!, object };
}

async function slice(name: string, port: number, addresses: string[]): Promise<void> {
  const object: EndpointSlice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true },
    })),
    ports: [{ name: 'tcp', port, protocol: 'TCP' }],
  };
  await cluster.admin
    .update(ENDPOINT_SLICES, object)
    .catch(() => cluster.admin.create<EndpointSlice>(ENDPOINT_SLICES, object));
}

interface Connection {
  socket: Socket;
  answer: string;
}

async function dial(port: number): Promise<Connection> {
  const socket = connect(port, ADDRESS);
  const [data] = await once(socket, 'data');
  return { socket, answer: String(data).trim() };
}

/** The name of the server that responds there, or an error code. */
const whoAnswers = async (port: number): Promise<string> => {
  try {
    const { socket, answer } = await dial(port);
    socket.destroy();
    return answer;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
};

describe('node ports', () => {
  test('follow Services and endpoints, and keep existing connections', async () => {
    const first = await pod(`${RANGE}.110`);
    const second = createServer((socket) => socket.end(`${RANGE}.111\n`));
    second.listen(first.port, `${RANGE}.111`);
    pods.push(second);
    const { nodePort } = await service('web');
    await slice('web', first.port, [first.address]);
    await expect.poll(() => whoAnswers(nodePort)).toBe(`${RANGE}.110`);

    const kept = await dial(nodePort);
    await slice('web', first.port, [`${RANGE}.111`]);
    await expect.poll(() => whoAnswers(nodePort)).toBe(`${RANGE}.111`);
    kept.socket.write('still here');
    expect(String((await once(kept.socket, 'data'))[0])).toBe('still here');

    await slice('web', first.port, []);
    await expect.poll(() => whoAnswers(nodePort)).toBe('ECONNRESET');
    await cluster.admin.delete(SERVICES, { namespace: 'default', name: 'web' });
    await expect.poll(() => whoAnswers(nodePort)).toBe('ECONNREFUSED');
    kept.socket.destroy();
  });

  test('report a port that is in use by another program on the Service', async () => {
    const taken = createServer();
    taken.listen(31999, ADDRESS);
    await once(taken, 'listening');
    await service('late', { port: { nodePort: 31999 } });
    const events = async (): Promise<(string | undefined)[]> =>
      (await cluster.admin.list(EVENTS, { namespace: 'default' })).items.map(({ message }) => message);
    await expect
      .poll(events)
      .toContain(
        `node node-a cannot listen on ${ADDRESS}:31999: the port is in use by another program; retrying every 5 s`,
      );
    taken.close();
  });
});
