/**
 * `tidegate install`, `check`, `status`, `sysdump`, `upgrade` and `uninstall` on a real cluster, as the installation guide has
 * them. The tests are one story, in order.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeList, KubeObject, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/cluster.ts';
import { restrictedProblems } from '../support/pod-security.ts';
import { type Finished, finish, run, TestProcess } from '../support/process.ts';
import { PROGRAM, repositoryFile } from '../support/repository.ts';
import { CLOUD, RealCluster } from './cluster/cluster.ts';
import { tidegate } from './cluster/install.ts';
import { packProgram } from './cluster/machine.ts';
import { faults } from './faults.ts';
import { SERVER_URL } from './support/control-plane.ts';

const NAMESPACE = 'tidegate-system';
const NEXT = '0.3.0';
const CANARY = 'canary-in-a-coal-mine';

let cluster: RealCluster;
beforeAll(async () => {
  const sites = { [CLOUD]: ['cloud-1'], shop: ['shop-1'], depot: ['depot-1'] };
  cluster = await RealCluster.create(sites, ['docker.io/library/web:1']);
  await cluster.start();
});
afterAll(() => cluster?.stop());

const kubectl = (args: string): Promise<string> => cluster.kubectl.run(args);
const tg = (...args: string[]): Promise<Finished> => tidegate(cluster, ...args);
const podsIn = async (namespace: string): Promise<Pod[]> =>
  (await cluster.kubectl.json<KubeList<Pod>>(`-n ${namespace} get pods`)).items;

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;

/** Succeeds without a word about a problem. */
async function isGreen(...args: string[]): Promise<string> {
  const { code, stdout, output } = await tg('check', ...args);
  expect(code, output).toBe(0);
  expect(stdout).toContain('\n0 errors, 0 warnings\n');
  return stdout;
}

describe('before an installation', () => {
  it('tidegate check --pre is all green', async () => {
    expect(await isGreen('--pre')).toContain('the user may create all objects');
  });

  it('a user with too few permissions gets a message, and nothing changes', async () => {
    await kubectl('create serviceaccount visitor');
    await kubectl('create clusterrolebinding visitor --clusterrole=view --serviceaccount=default:visitor');
    const token = await cluster.cloud.token('default', 'visitor');
    const visitor = cluster.cloud.credentials.kubeconfig('visitor', SERVER_URL, { token });
    const check = await tg('check', '--pre', '--kubeconfig', visitor);
    expect(check.code).toBe(1);
    expect(check.stdout).toContain('the user may not create namespaces, create customresourcedefinitions');
    const { code, stderr } = await tg('install', '--kubeconfig', visitor);
    expect(code).toBe(1);
    expect(stderr).toContain('the user lacks permissions');
    expect(stderr).toContain('tidegate check --pre lists what is missing');
    expect(await kubectl('get namespaces -o name')).not.toContain('tidegate');
  });
});

describe('tidegate install', () => {
  it('can be interrupted with Ctrl-C at any time', async () => {
    const { namespace, adminKubeconfig } = cluster.cloud;
    const command = [
      ...namespace.wrapper,
      process.execPath,
      PROGRAM,
      'install',
      '--kubeconfig',
      adminKubeconfig,
    ];
    for (const moment of ['creating CustomResourceDefinition nodepools', 'creating Deployment']) {
      const broken = new TestProcess(command);
      await broken.until(({ stderr }) => stderr.includes(moment));
      await broken.kill('SIGINT');
      expect(broken.stderr).toContain('interrupted; run the command again to continue');
      expect((await broken.exited).code).toBe(1);
    }
    const { stdout } = await tg('status', '-n', NAMESPACE);
    expect(stdout).toMatch(/version \d+\.\d+\.\d+; the change to version .* is not complete/);
  });

  it('continues, and ends with what to do next', async () => {
    const { code, stdout, stderr } = await tg('install', '--set', 'allNamespaces=true');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/An installation of Tidegate .* was interrupted; it is continued/);
    expect(stdout).toMatch(/is ready in namespace tidegate-system\. Next:\n {2}tidegate check/);
    await isGreen();
  });

  it('changes nothing the second time', async () => {
    const { code, stderr } = await tg('install');
    expect(stderr).toMatch(/\n0 changes; \d+ objects are up to date\./);
    expect(code).toBe(0);
  });

  it('runs pods that PodSecurity restricted accepts, with disruption budgets and network policies', async () => {
    for (const pod of await podsIn(NAMESPACE)) expect(restrictedProblems(pod.spec!)).toEqual([]);
    const names = (await kubectl(`-n ${NAMESPACE} get poddisruptionbudgets,networkpolicies -o name`)).split(
      '\n',
    );
    expect(names.filter(Boolean)).toHaveLength(6);
  });
});

describe('pools and front doors', () => {
  it('the manager leaves nodes that join a pool, and runs in the cloud only', async () => {
    await cluster.kubectl.apply(
      ...['shop', 'depot'].map((name) => ({
        apiVersion: 'apps.openyurt.io/v1beta2',
        kind: 'NodePool',
        metadata: { name },
        spec: { type: 'Edge' },
      })),
      {
        apiVersion: 'apps.openyurt.io/v1alpha1',
        kind: 'YurtIngress',
        metadata: { name: 'doors' },
        spec: { pools: [{ name: 'shop' }, { name: 'depot' }] },
      },
    );
    for (const name of ['shop', 'depot'])
      await kubectl(`label node ${name}-1 apps.openyurt.io/nodepool=${name}`);
    await eventually('the manager runs in the cloud only', async () => {
      const nodes = (await podsIn(NAMESPACE)).map(({ spec }) => spec?.nodeName);
      return nodes.every((node) => node === 'cloud-1');
    });
    await kubectl(`-n ${NAMESPACE} rollout status deployment --timeout=240s`);
    await kubectl('wait yurtingress/doors --for=jsonpath={.status.readyNum}=2 --timeout=240s');
  });

  it('the pods of routers satisfy PodSecurity restricted', async () => {
    const pods = await podsIn('ingress-nginx');
    expect(pods).toHaveLength(2);
    for (const pod of pods) expect(restrictedProblems(pod.spec!)).toEqual([]);
  });

  it('tidegate check is all green with hubs, pools and front doors that answer', async () => {
    await Promise.all(cluster.edge.map((node) => node.useHub()));
    await eventually('the hubs announce themselves', async () => {
      const { stdout } = await tg('status', '-n', NAMESPACE, '-o', 'json');
      const { pools } = JSON.parse(stdout) as { pools: { hubs: number }[] };
      return pools.every(({ hubs }) => hubs === 1);
    });
    // A kubelet that was restarted reports its node as NotReady at first.
    const report = await eventually('everything is green', () => isGreen());
    expect(report).toMatch(/L7Router shop answers at http:\/\/10\.99\.\S+ \(404\)/);
    expect(report).toContain('2 hubs are connected');
  });
});

describe('tidegate check names a fault that was put in by hand:', () => {
  for (const { name, check, level, message, break: put, mend } of faults(() => cluster))
    it(name, async () => {
      const undo = await put();
      await eventually(`the fault is named`, async () => {
        const { code, stdout } = await tg('check', '-o', 'json');
        const reports = JSON.parse(stdout) as {
          check: string;
          findings: { level: string; message: string; hint?: string }[];
        }[];
        for (const { findings } of reports)
          for (const each of findings) if (each.level !== 'ok') expect(each.hint).toBeTruthy();
        const hasErrors = reports.some(({ findings }) => findings.some((each) => each.level === 'error'));
        expect(code).toBe(hasErrors ? 1 : 0);
        const own = reports.find((report) => report.check === check)?.findings ?? [];
        if (own.some((each) => each.level === level && message.test(each.message))) return true;
        throw new Error(JSON.stringify(own));
      });
      await mend(undo);
    });

  it('and is all green again when all of them are corrected', async () => {
    await eventually('everything is green', () => isGreen());
  });
});

describe('tidegate sysdump', () => {
  // Also after a failure: the tests below count pods.
  afterAll(async () => {
    await kubectl('delete edgeapplication canary --ignore-not-found');
    await kubectl('-n ingress-nginx delete pod canary --grace-period=0 --force --ignore-not-found');
  });

  it('has objects and logs, and none of the secrets in the cluster', async () => {
    const secret = { metadata: { name: 'canary', namespace: NAMESPACE }, stringData: { key: CANARY } };
    await cluster.kubectl.apply(
      { apiVersion: 'v1', kind: 'Secret', ...secret },
      {
        apiVersion: 'apps.kubeedge.io/v1alpha1',
        kind: 'EdgeApplication',
        metadata: { name: 'canary', namespace: 'default' },
        spec: {
          workloadTemplate: { manifests: [{ apiVersion: 'v1', kind: 'Secret', ...secret }] },
          workloadScope: { targetNodeGroups: [] },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'canary', namespace: 'ingress-nginx', annotations: { note: `password=${CANARY}` } },
        spec: {
          containers: [
            { name: 'web', image: 'web:1', args: ['--key', CANARY], env: [{ name: 'KEY', value: CANARY }] },
          ],
        },
      },
    );
    // A pod that is being deleted. For a while it is listed although its kubelet may no longer have its log.
    const apps = (await podsIn(NAMESPACE)).find(({ metadata }) => /^tidegate-apps-/.test(`${metadata.name}`));
    await kubectl(`-n ${NAMESPACE} delete pod ${apps?.metadata.name} --wait=false`);
    const live = await eventually('another pod is ready', async () => {
      const pods = (await podsIn(NAMESPACE)).filter(({ metadata }) => !metadata.deletionTimestamp);
      return pods.length === 5 && pods.every(isReady) && pods;
    });
    const directory = join(cluster.cloud.directory, 'dump');
    const { code, output } = await tg('sysdump', '--directory', directory);
    expect(code, output).toBe(0);
    const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((e) =>
      e.isFile(),
    );
    const names = files.map(({ name }) => name);
    const errors = files.filter(({ name }) => name.endsWith('.error'));
    const texts = errors.map((file) => readFile(join(file.parentPath, file.name), 'utf8'));
    expect(await Promise.all(texts)).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining(['check.json', 'endpointslices.json', 'poddisruptionbudgets.json']),
    );
    for (const { metadata } of live) expect(names).toContain(`${metadata.name}.manager.log`);
    const token = await cluster.cloud.token('default', 'visitor');
    for (const file of files) {
      const text = await readFile(join(file.parentPath, file.name), 'utf8');
      for (const hidden of [
        CANARY,
        Buffer.from(CANARY).toString('base64'),
        'PRIVATE KEY',
        token.slice(0, 20),
      ])
        expect({ file: file.name, found: text.includes(hidden) }).toEqual({ file: file.name, found: false });
    }
  });
});

describe('one version later', () => {
  let next: (...args: string[]) => Promise<Finished>;

  beforeAll(async () => {
    const { directory, namespace, adminKubeconfig } = cluster.cloud;
    const folder = join(directory, 'next');
    await mkdir(folder);
    await run(['tar', '--extract', '--gzip', '--directory', folder, '--file', await packProgram(folder)]);
    const program = join(folder, 'package');
    const image = join(folder, 'image.tar');
    const script = repositoryFile('test/kube/cluster/other-version.js');
    const { archives } = cluster.nodes[0]!.options.images;
    await run([process.execPath, script, `${archives[0]}`, program, NEXT, image]);
    for (const node of cluster.nodes) await node.ctr('images', 'import', image);
    const command = [...namespace.wrapper, process.execPath, join(program, 'bin/tidegate')];
    next = (...args) => finish([...command, ...args, '--kubeconfig', adminKubeconfig]);
  });

  it('the newer program installs nothing, and names the command', async () => {
    const { code, stderr } = await next('install');
    expect(code).toBe(1);
    expect(stderr).toContain(`run tidegate upgrade to change it to ${NEXT}`);
    const check = await next('check');
    expect(check.stdout).toMatch(/is installed; this program has version 0\.3\.0/);
  });

  it('the upgrade keeps the values, and replaces manager and routers', async () => {
    const { code, stderr } = await next('upgrade', '--set', `image=tidegate:${NEXT}`);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await kubectl('get clusterrolebinding tidegate-apps -o name')).toContain('tidegate-apps');
    await eventually('manager and routers have the new version', async () => {
      const images = [...(await podsIn(NAMESPACE)), ...(await podsIn('ingress-nginx'))]
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata, spec }) => `${metadata.name} ${spec?.containers[0]?.image}`);
      if (images.length === 7 && images.every((image) => image.endsWith(` tidegate:${NEXT}`))) return true;
      throw new Error(images.join(', '));
    });
    await kubectl('wait yurtingress/doors --for=jsonpath={.status.readyNum}=2 --timeout=240s');
  });

  it('works with hubs that are one version older, and check accepts them', async () => {
    const { code, stdout, output } = await next('check');
    expect(code, output).toBe(0);
    expect(stdout).toContain('2 hubs are connected');
    expect(stdout).toMatch(/L7Router shop answers/);
  });

  it('the older program neither installs nor upgrades nor downgrades', async () => {
    for (const command of ['install', 'upgrade']) {
      const { code, stderr } = await tg(command);
      expect(code).toBe(1);
      expect(stderr).toContain(`version ${NEXT} is installed, which is newer than this program`);
    }
  });
});

describe('tidegate uninstall', () => {
  it('refuses while nodes use a hub', async () => {
    const { code, stderr } = await tg('uninstall', '--yes');
    expect(code).toBe(1);
    expect(stderr).toMatch(/these nodes use a hub.*: depot-1, shop-1/);
  });

  it('leaves nothing behind', async () => {
    for (const node of cluster.edge) {
      await node.leaveHub();
      await kubectl(`annotate node ${node.name} hub.tidegate.io/version-`);
    }
    const { code, output } = await tg('uninstall', '--yes', '--timeout', '10m');
    expect(code, output).toBe(0);
    const kinds =
      'namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,roles,rolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,ingressclasses';
    const left = (await kubectl(`get ${kinds} -A -o name`)).split('\n');
    expect(left.filter((name) => /tidegate|openyurt|kubeedge|ingress-nginx/.test(name))).toEqual([]);
    const { items } = await cluster.kubectl.json<KubeList<KubeObject>>('get nodes');
    for (const { metadata } of items)
      for (const key of Object.keys({ ...metadata.labels, ...metadata.annotations }))
        expect(key).not.toMatch(/openyurt|kubeedge|tidegate/);
  });

  it('and another installation finds a clean cluster', async () => {
    await isGreen('--pre');
  });
});
