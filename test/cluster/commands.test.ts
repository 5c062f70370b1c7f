/** `tidegate up --run-commands`: containers run their own commands, and Services answer on their ClusterIPs. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startTicksOf } from '@tidegate/envtest/node';
import { loadConfig, type Pod, type Service } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Cluster, eventually } from '../support/cluster.ts';
import { findKubectl } from '../support/kubectl.ts';
import { type Finished, finish, run, TestProcess } from '../support/process.ts';

const isRoot = process.getuid?.() === 0;
const ALLOWED = isRoot ? '--run-commands-as-root' : '--run-commands';

/** Answers every connection with the name of its node. Runs on any port. */
const SERVER = `
require('node:net').createServer((socket) => {
  socket.on('error', () => {});
  socket.end(process.env.NODE + '\\n');
}).listen(8080, process.env.IP);
process.on('SIGTERM', () => process.exit(0));
`;
const fromField = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start('--nodes', 'left,right', ALLOWED);
  await cluster.kubectl.apply(
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [
              {
                name: 'main',
                image: 'node:22',
                command: [process.execPath, '-e', SERVER],
                env: [
                  { name: 'NODE', ...fromField('spec.nodeName') },
                  { name: 'IP', ...fromField('status.podIP') },
                ],
                readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
    },
    service('everywhere', {}),
    service('local', { internalTrafficPolicy: 'Local' }),
    service('scoped', {}, { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' }),
  );
  await eventually('both pods are ready', async () => {
    const { items } = await cluster.kubectl.json<{ items: Pod[] }>('get pods -l app=web');
    const ready = items.filter(({ status }) => status?.containerStatuses?.[0]?.ready === true);
    return ready.length === 2 || undefined;
  });
});

afterAll(() => cluster.stop());

function service(name: string, spec: object, annotations: Record<string, string> = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', annotations },
    spec: { selector: { app: 'web' }, ports: [{ port: 8000, targetPort: 8080 }], ...spec },
  };
}

/** Runs kubectl with arguments that may contain spaces. */
async function kubectl(args: string[], { input = '', env = {} } = {}): Promise<Finished> {
  return finish([findKubectl(), '--kubeconfig', join(cluster.state, 'kubeconfig'), ...args], {
    input,
    env: { ...process.env, ...env },
  });
}

/** The output of a command in the pod of a node. Rejects when the command fails. */
async function inPod(node: string, ...command: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(['exec', await nameOn(node), '--', ...command]);
  if (code !== 0) throw new Error(`${command[0]} exited with ${code}: ${stdout}${stderr}`);
  return stdout;
}

async function podOn(node: string): Promise<Pod> {
  const { items } = await cluster.kubectl.json<{ items: Pod[] }>('get pods -l app=web');
  return items.find(({ spec }) => spec?.nodeName === node)!;
}

const nameOn = async (node: string): Promise<string> => (await podOn(node)).metadata.name ?? '';

describe('jobs', () => {
  const job = (name: string, script: string): object => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default' },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'main', image: 'sh', command: ['sh', '-c', script] }],
        },
      },
    },
  });

  test('complete when their command succeeds, and fail when it fails', async () => {
    await cluster.kubectl.apply(job('good', 'echo done'), job('bad', 'exit 7'));
    await cluster.kubectl.run('wait --for=condition=complete job/good --timeout=240s');
    await cluster.kubectl.run('wait --for=condition=failed job/bad --timeout=240s');
    expect(await cluster.kubectl.run('logs job/good')).toBe('done\n');
    expect(await cluster.kubectl.run('logs job/good --timestamps')).toMatch(/^\d{4}-\d\d-\d\dT\S+ done\n$/);
    const { items } = await cluster.kubectl.json<{ items: Pod[] }>('get pods -l job-name=bad');
    expect(items[0]?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(7);
  });

  test('use their service account at the usual path', async () => {
    const script = 'cd /var/run/secrets/kubernetes.io/serviceaccount && test -s token && cat namespace';
    await cluster.kubectl.apply(job('account', script));
    await cluster.kubectl.run('wait --for=condition=complete job/account --timeout=240s');
    expect(await cluster.kubectl.run('logs job/account')).toBe('default');
  });
});

describe('exec', () => {
  const protocols = [
    ['WebSocket', {}],
    ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' }],
  ] as const;

  test.each(protocols)(
    'connects input, output and errors, and reports the exit code, over %s',
    async (_, env) => {
      const pod = await nameOn('left');
      const script = 'cat; echo problem >&2; echo $NODE; exit 5';
      const ran = await kubectl(['exec', '-i', pod, '--', 'sh', '-c', script], { input: 'given\n', env });
      expect(ran).toMatchObject({ code: 5, stdout: 'given\nleft\n' });
      expect(ran.stderr).toContain('problem\n');
      expect(await kubectl(['exec', pod, '--', 'true'], { env })).toMatchObject({ code: 0, stdout: '' });
    },
  );

  test.each(protocols)('copies large files in both directions over %s', async (_, env) => {
    const pod = await nameOn('left');
    const input = 'abcdefghij'.repeat(300_000);
    const script = 'cat > /tmp/large; wc -c < /tmp/large; cat /tmp/large';
    const { code, stdout } = await kubectl(['exec', '-i', pod, '--', 'sh', '-c', script], { input, env });
    expect(code).toBe(0);
    expect(stdout.trimStart()).toBe(`3000000\n${input}`);
  });

  test('has a terminal of the size of the client', async () => {
    const config = await loadConfig({ path: join(cluster.state, 'kubeconfig'), env: {} });
    const { cert, key } = await config.credentials.current();
    const query = new URLSearchParams({ stdin: 'true', stdout: 'true', tty: 'true' });
    const script = 'until [ "$(stty size)" = "45 123" ]; do sleep 0.1; done; read x; stty size; tty';
    for (const word of ['sh', '-c', script]) query.append('command', word);
    const path = `/api/v1/namespaces/default/pods/${await nameOn('left')}/exec?${query}`;
    const socket = new WebSocket(`${config.server.replace('https', 'wss')}${path}`, 'v5.channel.k8s.io', {
      ca: config.ca,
      cert,
      key,
    });
    const received: Record<number, string> = {};
    socket.on('message', (message: Buffer) => {
      received[message[0]!] = (received[message[0]!] ?? '') + message.toString('utf8', 1);
    });
    await once(socket, 'open');
    const send = (channel: number, text: string): void =>
      socket.send(Buffer.from(`${String.fromCharCode(channel)}${text}`));
    // The command waits for the size, and then for a line. Until it has got both, they are sent again and again.
    const closed = once(socket, 'close');
    const input = setInterval(() => {
      send(4, JSON.stringify({ Width: 123, Height: 45 }));
      send(0, '\r');
    }, 200);
    await closed;
    clearInterval(input);
    expect(received[1]).toContain('45 123');
    expect(received[1]).toContain('/dev/pts/');
    expect(JSON.parse(received[3] ?? '')).toMatchObject({ status: 'Success' });
  });

  test('is refused for a container that does not run its own command', async () => {
    await cluster.kubectl.run('run plain --image=nginx');
    await cluster.kubectl.run('wait --for=condition=ready pod/plain --timeout=240s');
    const { code, stderr } = await kubectl(['exec', 'plain', '--', 'ls']);
    expect(code).toBe(1);
    expect(stderr).toContain('exec is not supported for container "plain": it does not run its own command');
  });
});

test.each([
  ['WebSocket', {}],
  ['SPDY', { KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
])('port-forward connects to the pod over %s', async (_, env) => {
  const command = [
    findKubectl(),
    '--kubeconfig',
    join(cluster.state, 'kubeconfig'),
    'port-forward',
    await nameOn('right'),
    '0:8080',
  ];
  const forwarding = new TestProcess(command, { env: { ...process.env, ...env } });
  try {
    const address = /127\.0\.0\.1:(\d+)/;
    await forwarding.until(({ stdout }) => address.test(stdout));
    const port = address.exec(forwarding.stdout)?.[1];
    expect(await answerFrom('127.0.0.1', Number(port))).toBe('right\n');
    expect(await answerFrom('127.0.0.1', Number(port))).toBe('right\n');
  } finally {
    await forwarding.kill('SIGTERM');
  }
});

async function answerFrom(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

describe('a ClusterIP', () => {
  const addressOf = async (name: string): Promise<string> =>
    (await cluster.kubectl.json<Service>(`get service ${name}`)).spec?.clusterIP ?? '';

  /** The answers to several connections that a container of the node opens. */
  async function answersOn(node: string, address: string): Promise<string[]> {
    const code = `
      const connect = (left) => {
        if (left === 0) return;
        const socket = require('node:net').connect(8000, '${address}');
        socket.on('data', (data) => process.stdout.write(data));
        socket.on('close', () => connect(left - 1));
        socket.on('error', (error) => console.log(error.code));
      };
      connect(6);`;
    const stdout = await inPod(node, process.execPath, '-e', code);
    return [...new Set(stdout.trim().split('\n'))].sort();
  }

  test('is a loopback address outside of the addresses of nodes and pods', async () => {
    const address = await addressOf('everywhere');
    const { status } = await podOn('left');
    expect(address).toMatch(/^127\./);
    expect(address.split('.')[1]).toBe(String(Number(status?.podIP?.split('.')[1]) + 64));
  });

  test('leads to all endpoints, from every node', async () => {
    const address = await addressOf('everywhere');
    for (const node of ['left', 'right']) {
      await eventually(
        `both answer on ${node}`,
        async () => (await answersOn(node, address)).join() === 'left,right' || undefined,
      );
    }
  });

  test.each(['local', 'scoped'])(
    'of the Service %s leads to the endpoints of the node of the client',
    async (name) => {
      const address = await addressOf(name);
      for (const node of ['left', 'right']) {
        await eventually(
          `${node} answers`,
          async () => (await answersOn(node, address)).join() === node || undefined,
        );
        expect(await answersOn(node, address)).toEqual([node]);
      }
    },
  );

  test('of the API server is served with a certificate of the cluster', async () => {
    const address = await addressOf('kubernetes');
    const authority = '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt';
    const code = `
      const ca = require('node:fs').readFileSync('${authority}');
      require('node:https').get({ host: '${address}', port: 443, path: '/version', ca }, (response) => {
        console.log(response.statusCode);
        response.resume();
      }).on('error', (error) => console.log(error.code));`;
    // As another user, only ports above 1023 answer.
    const expected = isRoot ? '200\n' : /200|ECONNREFUSED/;
    expect(await inPod('right', process.execPath, '-e', code)).toMatch(expected);
  });
});

describe('when the process of a node is killed', () => {
  test('its commands end, and start again with the new process', async () => {
    const before = await podOn('left');
    const pid = await cluster.processOf(before);
    const ticks = startTicksOf(pid);
    process.kill(await cluster.pidOf('left'), 'SIGKILL');
    await eventually('the command has ended', () => startTicksOf(pid) !== ticks || undefined);
    await eventually('the container is restarted', async () => {
      const { status } = await podOn('left');
      const container = status?.containerStatuses?.[0];
      return (container?.ready === true && (container.restartCount ?? 0) > 0) || undefined;
    });
    expect(await inPod('left', 'echo', 'back')).toBe('back\n');
  });
});

test('nothing is left of a command that has left its process group when the cluster stops', async () => {
  // A number of seconds that no other process sleeps for.
  const mark = String(randomInt(1e8, 1e9));
  const script = `setsid sleep ${mark} > /dev/null 2>&1 & sleep 0.2`;
  await inPod('right', 'sh', '-c', script);
  expect(await processesWith(mark)).toHaveLength(1);
  await cluster.up.kill('SIGTERM');
  expect(await processesWith(mark)).toEqual([]);
});

async function processesWith(word: string): Promise<string[]> {
  const stdout = await run(['ps', '-eo', 'args']);
  return stdout.split('\n').filter((line) => line.startsWith('sleep') && line.includes(word));
}
