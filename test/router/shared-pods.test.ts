/** Several routers in one pod, as `tidegate router --shared-pods` runs them, on both data planes. */
import { X509Certificate } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENDPOINT_SLICES, NAMESPACES, SERVICES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { L7_ROUTERS, SHARED_PODS_LABEL } from '../../packages/tidegate/src/api/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { service, slice } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../dataplane/support/backend.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { joinPods, leavePods, SharedPod } from './support/shared-pods.ts';

const authority = new TestAuthority();
const HOST = 'shop.example';
let cluster: EmbeddedWithKinds;
let backend: Backend;

beforeAll(async () => {
  cluster = await startEmbeddedWithKinds();
  backend = await Backend.start('web');
  const { client } = cluster;
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await client.create(SERVICES, service('web'));
  await client.create(ENDPOINT_SLICES, slice('web', { '127.0.0.1': {} }, { ports: { http: backend.port } }));
});
afterAll(async () => {
  await backend.stop();
  await cluster.stop();
});

describe.each(['nginx', 'embedded'] as const)('a pod with several routers on %s', (dataPlane) => {
  let pod: SharedPod;
  const joined = new Set<string>();
  const enter = async (name: string, options: Parameters<typeof joinPods>[2]): Promise<void> => {
    joined.add(name);
    await joinPods(cluster, name, options);
  };
  const exit = async (name: string): Promise<void> => {
    joined.delete(name);
    await leavePods(cluster, name);
  };
  const served = (section: number, url: string, status = 200): Promise<void> =>
    expect.poll(() => pod.ask(section, url)).toBe(status);

  beforeEach(async () => {
    pod = await SharedPod.create(cluster, dataPlane);
  });
  afterEach(async () => {
    await pod.remove();
    for (const name of [...joined]) await exit(name);
  });

  it('presents the certificates of a class at its own address only', async () => {
    const [gold, silver, spare] = [
      authority.issue([HOST]),
      authority.issue([HOST]),
      authority.issue(['s.io']),
    ];
    const shown = ({ certificate }: { certificate: string }) =>
      new X509Certificate(certificate).fingerprint256;
    await enter('gold', { section: 1, rules: { [`${HOST}/`]: 'web:http' }, certificates: { [HOST]: gold } });
    await enter('silver', {
      section: 2,
      rules: { [`${HOST}/`]: 'web:http', 's.io/': 'web:http' },
      certificates: { [HOST]: silver, 's.io': spare },
    });
    await enter('iron', { section: 3, rules: { 'iron.example/': 'web:http' } });
    await pod.start();
    for (const section of [1, 2]) await served(section, HOST);
    await served(3, 'iron.example');
    const at = async (section: number, name: string): Promise<string> =>
      (await pod.shake(section, name)).fingerprint;
    expect([await at(1, HOST), await at(2, HOST)]).toEqual([shown(gold), shown(silver)]);
    expect(await at(2, 's.io')).toBe(shown(spare));
    // A section without a certificate for the name presents that of the router, never one of another class.
    const own = await at(3, 'unknown.example');
    expect([shown(gold), shown(silver), shown(spare)]).not.toContain(own);
    expect([await at(1, 's.io'), await at(3, 's.io'), await at(3, HOST)]).toEqual([own, own, own]);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('resumes no %s session of another class', async (version) => {
    for (const [at, name] of ['gold', 'silver'].entries())
      await enter(name, {
        section: at + 1,
        rules: { [`${HOST}/`]: 'web:http' },
        certificates: { [HOST]: authority.issue([HOST]) },
      });
    await pod.start();
    for (const section of [1, 2]) await served(section, HOST);
    const { session } = await pod.shake(1, HOST, { version });
    // The sections of nginx have a common TLS context, so no session can be resumed there.
    const resumed = dataPlane === 'embedded';
    expect(await pod.shake(1, HOST, { version, session })).toMatchObject({ resumed });
    expect(await pod.shake(2, HOST, { version, session })).toMatchObject({ resumed: false });
  });

  it('counts and logs the requests of each class apart', async () => {
    for (const [at, name] of ['gold', 'silver'].entries())
      await enter(name, { section: at + 1, rules: { [`${HOST}/${name}`]: 'web:http' } });
    await pod.start();
    await served(1, `${HOST}/gold`);
    await served(2, `${HOST}/silver`);
    for (const path of ['gold', 'gold', 'nowhere']) await pod.ask(1, `${HOST}/${path}`);
    await pod.ask(2, 'unknown.example');
    const counts = async (): Promise<Record<string, number>> => {
      const lines = (await pod.metrics()).match(/^tidegate_router_requests_total\{.*$/gm) ?? [];
      return Object.fromEntries(
        lines.map((line) => {
          const labels = [...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]);
          const { class: of, router, host, service: to, code } = Object.fromEntries(labels);
          return [[of, router, host, to, code].join(' '), Number(line.split(' ').at(-1))];
        }),
      );
    };
    await expect.poll(counts).toMatchObject({
      [`gold gold-router ${HOST} shop/web 200`]: expect.any(Number),
      [`silver silver-router ${HOST} shop/web 200`]: expect.any(Number),
      'gold gold-router   404': expect.any(Number),
      'silver silver-router   404': expect.any(Number),
    });
    const metrics = await pod.metrics();
    for (const name of ['gold', 'silver']) {
      expect(metrics).toMatch(
        new RegExp(`^tidegate_router_generation\\{.*router="${name}-router".*\\} [1-9]`, 'm'),
      );
      expect(metrics).toMatch(
        new RegExp(`^tidegate_router_apply_seconds_count\\{.*router="${name}-router".*\\} [1-9]`, 'm'),
      );
    }
    const lines = async () => readLines(pod.accessLog);
    await expect.poll(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ class: 'gold', router: 'gold-router', target: '/gold', status: 200 }),
        expect.objectContaining({ class: 'gold', router: 'gold-router', target: '/nowhere', status: 404 }),
        expect.objectContaining({
          class: 'silver',
          router: 'silver-router',
          target: '/silver',
          status: 200,
        }),
      ]),
    );
  });

  it('forgets the counts of a class that has left', async () => {
    await enter('gold', { section: 1, rules: { [`${HOST}/`]: 'web:http' } });
    await enter('silver', { section: 2, rules: { 'old.example/': 'web:http' } });
    await pod.start();
    await served(1, HOST);
    await served(2, 'old.example');
    await expect.poll(() => pod.metrics()).toContain('router="silver-router"');
    await exit('silver');
    // Another router with its number ends the old one at once.
    await enter('bronze', { section: 2, rules: { 'new.example/': 'web:http' } });
    await served(2, 'new.example');
    await expect.poll(() => pod.metrics()).toContain('class="bronze"');
    await expect.poll(() => pod.metrics()).not.toContain('silver');
    const metrics = await pod.metrics();
    expect(metrics).toContain('class="gold"');
    expect(metrics).not.toContain('old.example');
  });

  it('serves after a kill, without the API server, the classes of its last moment', async () => {
    await enter('gold', { section: 1, rules: { [`${HOST}/gold`]: 'web:http' } });
    await enter('silver', { section: 2, rules: { [`${HOST}/silver`]: 'web:http' } });
    await pod.start();
    await served(1, `${HOST}/gold`);
    await enter('bronze', {
      section: 3,
      rules: { [`${HOST}/bronze`]: 'web:http' },
      certificates: { [HOST]: authority.issue([HOST]) },
    });
    await served(3, `${HOST}/bronze`);
    const { fingerprint } = await pod.shake(3, HOST);
    await exit('silver');
    await enter('iron', { section: 2, rules: { [`${HOST}/iron`]: 'web:http' } });
    await served(2, `${HOST}/iron`);
    await expect.poll(() => storedHosts(pod)).toBeGreaterThanOrEqual(3);
    await pod.kill();
    await pod.start({ offline: true });
    for (const [section, name] of [
      [1, 'gold'],
      [2, 'iron'],
      [3, 'bronze'],
    ] as const)
      expect(await pod.ask(section, `${HOST}/${name}`)).toBe(200);
    expect(await pod.ask(2, `${HOST}/silver`)).toBe(404);
    expect((await pod.shake(3, HOST)).fingerprint).toBe(fingerprint);
  });

  it('is ready after a restart without the API server, although one class has no routes yet', async () => {
    await enter('gold', { section: 1, rules: { [`${HOST}/`]: 'web:http' } });
    await pod.start();
    await served(1, HOST);
    await expect.poll(() => storedHosts(pod)).toBe(1);
    await pod.kill();
    // What is left of a class that joined in the last moment.
    await mkdir(join(pod.state, 'sections', '2_late-router_0000-1'), { recursive: true });
    await pod.start({ offline: true });
    expect([await pod.ask(1, HOST), await pod.ask(2, HOST)]).toEqual([200, 503]);
  });

  it('does not serve a class that has left, after a restart without the API server', async () => {
    await enter('gold', { section: 1, rules: { [`${HOST}/`]: 'web:http' } });
    await enter('silver', { section: 2, rules: { [`${HOST}/`]: 'web:http' } });
    await pod.start();
    for (const section of [1, 2]) await served(section, HOST);
    await expect.poll(() => storedHosts(pod)).toBe(2);
    await exit('silver');
    const left = async (): Promise<boolean> => {
      const names = await readdir(join(pod.state, 'sections'));
      const own = names.find((name) => name.startsWith('2_'));
      return own === undefined || (await readdir(join(pod.state, 'sections', own))).includes('left');
    };
    await expect.poll(left).toBe(true);
    await pod.kill();
    await pod.start({ offline: true });
    expect(await pod.ask(1, HOST)).toBe(200);
    expect(await pod.ask(2, HOST)).not.toBe(200);
  });

  it('serves a class that moves to other pods, and no other one in its place, until those serve it', async () => {
    await enter('gold', { section: 1, rules: { [`${HOST}/gold`]: 'web:http' } });
    await pod.start();
    await served(1, `${HOST}/gold`);
    // The class gets pods of its own. As long as no such pod runs, its Service leads to this one.
    await cluster.client.patch(L7_ROUTERS, { name: 'gold-router' }, 'merge', {
      metadata: { labels: { [SHARED_PODS_LABEL]: null } },
      spec: { workload: null },
    });
    await enter('silver', { section: 1, rules: { [`${HOST}/silver`]: 'web:http' } });
    await expect.poll(() => pod.output).toContain('the router waits for its section');
    expect([await pod.ask(1, `${HOST}/gold`), await pod.ask(1, `${HOST}/silver`)]).toEqual([200, 404]);
    await exit('gold');
    await served(1, `${HOST}/silver`);
    expect(await pod.ask(1, `${HOST}/gold`)).toBe(404);
  });

  it('serves the others while a class joins and leaves again and again', async () => {
    await enter('gold', {
      section: 1,
      rules: { [`${HOST}/`]: 'web:http' },
      annotations: { 'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8' },
    });
    await enter('silver', { section: 2, rules: { [`${HOST}/`]: 'web:http' } });
    await pod.start();
    await served(2, HOST);
    for (let round = 1; round <= 5; round++) {
      await enter('guest', { section: 3, rules: { [`${HOST}/${round}`]: 'web:http' } });
      await served(3, `${HOST}/${round}`);
      // The policy of one class does not apply to the same host of another.
      expect([await pod.ask(1, HOST), await pod.ask(2, HOST)]).toEqual([403, 200]);
      await served(3, `${HOST}/${round - 1}`, 404);
      await exit('guest');
    }
  });
});

async function readLines(path: string): Promise<unknown[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line));
}

/** How many sections have stored routes. */
async function storedHosts(pod: SharedPod): Promise<number> {
  const folder = join(pod.state, 'sections');
  let count = 0;
  for (const name of await readdir(folder)) {
    const files = await readdir(join(folder, name), { recursive: true, withFileTypes: true });
    for (const file of files)
      if (file.isFile() && (await readFile(join(file.parentPath, file.name))).includes('host/')) {
        count++;
        break;
      }
  }
  return count;
}
