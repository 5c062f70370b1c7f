import { mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  KubeClient,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Pod,
  SECRETS,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PodPlace, VolumeError } from '../contracts.ts';
import { References } from '../references/index.ts';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { PodVolumes } from './volumes.ts';

let cluster: TestCluster;
let client: KubeClient;
let references: References;
let volumes: PodVolumes;

beforeAll(async () => {
  cluster = await startTestCluster();
  client = await cluster.node('node-a');
  references = new References({ client, log: silentLogger });
  volumes = open();
  await cluster.admin.create(
    CONFIG_MAPS,
    named('ConfigMap', 'settings', {
      data: { 'a.conf': 'one', 'b.conf': 'two' },
      binaryData: { bin: Buffer.from([0, 255]).toString('base64') },
    }),
  );
  const data = { password: Buffer.from('hunter2').toString('base64') };
  await cluster.admin.create(SECRETS, named('Secret', 'login', { data }));
});

afterAll(async () => {
  await volumes.close();
  await references.close();
  await cluster.stop();
});

const open = (clock = systemClock): PodVolumes =>
  new PodVolumes({
    client,
    references,
    nodeIP: '127.64.0.1',
    allocatable: () => ({ cpu: '4' }),
    log: silentLogger,
    clock,
    claimsDirectory: join(cluster.directory, 'claims'),
  });

let pods = 0;

/** Creates a pod on node-a; a node may read only objects that its pods refer to. */
async function podWith(
  list: core.Volume[],
  mounts: core.VolumeMount[] = list.map(({ name }) => ({ name, mountPath: `/${name}` })),
): Promise<{ pod: Pod; place: PodPlace; root: string; uid: string }> {
  const pod = await cluster.admin.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${++pods}`, namespace: 'default', labels: { app: 'web', zone: 'a' } },
    spec: {
      nodeName: 'node-a',
      containers: [{ name: 'main', image: 'x', volumeMounts: mounts }],
      volumes: list,
    },
  });
  const uid = pod.metadata.uid!;
  const place = cluster.placeOf(uid);
  return { pod, place, uid, root: place.container('main').root };
}

async function mounted(
  list: core.Volume[],
  mounts?: core.VolumeMount[],
): Promise<{ root: string; uid: string; place: PodPlace }> {
  const { pod, place, root, uid } = await podWith(list, mounts);
  await volumes.mount(pod, place, '127.64.1.2');
  return { root, uid, place };
}

const read = (...path: string[]): Promise<string> => readFile(join(...path), 'utf8');
const visible = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).filter((name) => !name.startsWith('..')).sort();

describe('volumes', () => {
  test('contain ConfigMaps and Secrets as files, readable by the owner only', async () => {
    const { root } = await mounted([
      { name: 'config', configMap: { name: 'settings', defaultMode: 0o755 } },
      { name: 'secret', secret: { secretName: 'login' } },
    ]);
    expect(await visible(join(root, 'config'))).toEqual(['a.conf', 'b.conf', 'bin']);
    expect(await read(root, 'config/a.conf')).toBe('one');
    expect(await readFile(join(root, 'config/bin'))).toEqual(Buffer.from([0, 255]));
    expect(await read(root, 'secret/password')).toBe('hunter2');
    expect((await stat(join(root, 'config/a.conf'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(root, 'secret/password'))).mode & 0o777).toBe(0o600);
  });

  test('select and rename keys', async () => {
    const items = [{ key: 'a.conf', path: 'deep/er/x', mode: 0o400 }];
    const { root } = await mounted([{ name: 'config', configMap: { name: 'settings', items } }]);
    expect(await visible(join(root, 'config'))).toEqual(['deep']);
    expect(await read(root, 'config/deep/er/x')).toBe('one');
    expect((await stat(join(root, 'config/deep/er/x'))).mode & 0o777).toBe(0o400);
  });

  test('follow changes, all files at once', async () => {
    await cluster.admin.create(CONFIG_MAPS, named('ConfigMap', 'live', { data: { old: '1', both: '1' } }));
    const { root } = await mounted([{ name: 'config', configMap: { name: 'live' } }]);
    await cluster.admin.update(CONFIG_MAPS, named('ConfigMap', 'live', { data: { both: '2', fresh: '2' } }));
    await expect.poll(() => visible(join(root, 'config'))).toEqual(['both', 'fresh']);
    expect(await read(root, 'config/both')).toBe('2');
    const hidden = (await readdir(join(root, 'config'))).filter((name) => name.startsWith('..'));
    expect(hidden.sort()).toEqual(['..data', await readlink(join(root, 'config/..data'))].sort());
  });

  test('accept an optional source that appears later, and name a missing one', async () => {
    const optional = { name: 'later', optional: true };
    const { root } = await mounted([{ name: 'config', configMap: optional }]);
    expect(await visible(join(root, 'config'))).toEqual([]);
    await cluster.admin.create(CONFIG_MAPS, named('ConfigMap', 'later', { data: { x: '1' } }));
    await expect.poll(() => visible(join(root, 'config'))).toEqual(['x']);
    const missing = mounted([{ name: 'config', configMap: { name: 'absent' } }]);
    await expect(missing).rejects.toThrow(
      new VolumeError('MountVolume.SetUp failed for volume "config" : configmap "absent" not found'),
    );
    const items = [{ key: 'none', path: 'none' }];
    await expect(mounted([{ name: 'c', secret: { secretName: 'login', items } }])).rejects.toThrow(
      'references non-existent secret key: none',
    );
  });

  test('keep the last contents when the source is deleted', async () => {
    await cluster.admin.create(CONFIG_MAPS, named('ConfigMap', 'brief', { data: { x: '1' } }));
    const { root } = await mounted([
      { name: 'gone', configMap: { name: 'brief' } },
      { name: 'other', configMap: { name: 'settings' } },
    ]);
    await cluster.admin.delete(CONFIG_MAPS, { namespace: 'default', name: 'brief' });
    const reference = { kind: 'ConfigMap', namespace: 'default', name: 'brief' } as const;
    await expect.poll(() => references.get(reference)).toBeUndefined();
    expect(await read(root, 'gone/x')).toBe('1');
  });

  test('project tokens, objects and fields into one directory', async () => {
    const { root } = await mounted([
      {
        name: 'all',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
            { configMap: { name: 'settings', items: [{ key: 'a.conf', path: 'ca.crt' }] } },
            {
              downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] },
            },
            { secret: { name: 'login' } },
          ],
        },
      },
    ]);
    expect(await visible(join(root, 'all'))).toEqual(['ca.crt', 'namespace', 'password', 'token']);
    expect(await read(root, 'all/namespace')).toBe('default');
    const authorization = `Bearer ${await read(root, 'all/token')}`;
    const credential = { authorization };
    const { impersonate: _, ...config } = client.config;
    const asPod = new KubeClient({
      ...config,
      credentials: { current: async () => credential, refresh: async () => credential },
    });
    const review = await asPod.raw({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    });
    expect(review).toMatchObject({
      status: { userInfo: { username: 'system:serviceaccount:default:default' } },
    });
    await asPod.close();
  });

  test('renew tokens when most of their lifetime has passed', async () => {
    const clock = new VirtualClock(Date.now());
    const early = open(clock);
    const token = { path: 'token', expirationSeconds: 600 };
    const { pod, place, root } = await podWith([
      { name: 'token', projected: { sources: [{ serviceAccountToken: token }] } },
    ]);
    await early.mount(pod, place, '127.64.1.2');
    const first = await read(root, 'token/token');
    await clock.advance(481_000);
    await expect.poll(() => read(root, 'token/token')).not.toBe(first);
    await early.close();
  });

  test('contain fields of the pod', async () => {
    const items = [
      { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
      { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
    ];
    const { root } = await mounted([{ name: 'info', downwardAPI: { items } }]);
    expect(await read(root, 'info/cpu')).toBe('4');
    expect(await read(root, 'info/labels')).toBe('app="web"\nzone="a"');
  });

  test('keep the files of an emptyDir across another mount', async () => {
    const { pod, place, root } = await podWith([{ name: 'data', emptyDir: {} }]);
    await volumes.mount(pod, place, '127.64.1.2');
    await writeFile(join(root, 'data/file'), 'kept');
    await volumes.mount(pod, place, '127.64.1.2');
    expect(await read(root, 'data/file')).toBe('kept');
  });

  test('keep the files of a claim for the next pod, and remove them with the volume', async () => {
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const csi = { driver: 'local-path.tidegate.io', volumeHandle: 'data-1' };
    const capacity = { storage: '1Gi' };
    await cluster.admin.create(PERSISTENT_VOLUMES, {
      ...named('PersistentVolume', 'data-1', { spec: { ...claim, capacity, csi } }),
    });
    await cluster.admin.create(
      PERSISTENT_VOLUME_CLAIMS,
      named('PersistentVolumeClaim', 'data', { spec: { ...claim, volumeName: 'data-1' } }),
    );
    const volume = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await expect(mounted(volume)).rejects.toThrow(
      'persistentvolumeclaim "data" is not bound to a volume yet',
    );
    const target = { namespace: 'default', name: 'data', subresource: 'status' };
    await cluster.admin.patch(PERSISTENT_VOLUME_CLAIMS, target, 'merge', { status: { phase: 'Bound' } });

    const clock = new VirtualClock();
    const agent = open(clock);
    const first = await podWith(volume);
    await agent.mount(first.pod, first.place, '127.64.1.2');
    await writeFile(join(first.root, 'data/kept'), 'yes');
    await agent.unmount(first.uid);
    await rm(first.place.directory, { recursive: true });
    const second = await podWith(volume);
    await agent.mount(second.pod, second.place, '127.64.1.2');
    expect(await read(second.root, 'data/kept')).toBe('yes');
    await agent.unmount(second.uid);

    const patch = { metadata: { finalizers: null } };
    await cluster.admin.patch(PERSISTENT_VOLUMES, { name: 'data-1' }, 'merge', patch);
    await cluster.admin.delete(PERSISTENT_VOLUMES, { name: 'data-1' });
    clock.advance(10 * 60_000);
    await expect.poll(() => readdir(join(cluster.directory, 'claims'))).toEqual([]);
    await agent.close();
  });

  test('nest, and show parts of volumes', async () => {
    const { root, place } = await mounted(
      [
        { name: 'data', emptyDir: {} },
        { name: 'config', configMap: { name: 'settings' } },
      ],
      [
        { name: 'config', mountPath: '/data/etc' },
        { name: 'data', mountPath: '/data/' },
        { name: 'data', mountPath: '/part', subPath: 'sub/dir' },
        { name: 'config', mountPath: '/etc/one.conf', subPath: 'a.conf' },
      ],
    );
    expect(await read(root, 'data/etc/b.conf')).toBe('two');
    expect(await read(root, 'etc/one.conf')).toBe('one');
    await writeFile(join(root, 'part/x'), 'y');
    expect(await read(place.directory, 'volumes/data/sub/dir/x')).toBe('y');
  });

  test.each([
    [{ name: 'v', hostPath: { path: '/etc' } }, '/v', 'hostPath volumes are not supported'],
    [{ name: 'v', emptyDir: {} }, '/', 'cannot be mounted at /'],
    [{ name: 'v', emptyDir: {} }, '/a/../../b', "must not contain '..'"],
  ])('reject %j at %s', async (volume, mountPath, message) => {
    const place = cluster.placeOf('refused');
    const pod: Pod = named('Pod', 'refused', {
      spec: {
        containers: [{ name: 'main', volumeMounts: [{ name: 'v', mountPath }] }],
        volumes: [volume],
      },
    });
    await expect(volumes.mount(pod, place, '')).rejects.toThrow(message);
    await volumes.unmount('');
  });

  test('do not hide existing files', async () => {
    const { pod, place, root } = await podWith([{ name: 'data', emptyDir: {} }]);
    await mkdir(join(root, 'data/own'), { recursive: true });
    await expect(volumes.mount(pod, place, '')).rejects.toThrow('the directory is not empty');
  });

  test('do not change after unmounting', async () => {
    await cluster.admin.create(CONFIG_MAPS, named('ConfigMap', 'left', { data: { x: '1' } }));
    const { root, uid } = await mounted([{ name: 'config', configMap: { name: 'left' } }]);
    await volumes.unmount(uid);
    await cluster.admin.update(CONFIG_MAPS, named('ConfigMap', 'left', { data: { x: '2' } }));
    const { root: other } = await mounted([{ name: 'config', configMap: { name: 'left' } }]);
    expect(await read(other, 'config/x')).toBe('2');
    expect(await read(root, 'config/x')).toBe('1');
  });
});
