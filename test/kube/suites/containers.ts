/** What the programs are allowed to do in their containers, and which permissions they need. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeList, Pod } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { routerPod } from '../../story/world.ts';
import type { RealCluster } from '../cluster/cluster.ts';
import { HUB_ADDRESS } from '../cluster/node.ts';

/** Lists the processes of the container, and what happens when it writes outside of its volumes. */
const FACTS = `
const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const field = (status, name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(status)[1];
const processes = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map((pid) => {
  const status = readFileSync('/proc/' + pid + '/status', 'utf8');
  return { name: field(status, 'Name'), user: field(status, 'Uid'), capabilities: field(status, 'CapEff') };
});
const write = (path) => { try { writeFileSync(path, ''); return 'written'; } catch ({ code }) { return code; } };
console.log(JSON.stringify({ processes, root: write('/x'), programs: write('/usr/bin/x'), temporary: write('/tmp/x') }));`;

/** Asks the API server as client libraries in a pod do. */
const IN_CLUSTER = `
const { readFileSync } = require('node:fs');
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
const account = '/var/run/secrets/kubernetes.io/serviceaccount/';
const [token, ca] = ['token', 'ca.crt'].map((name) => readFileSync(account + name, 'utf8'));
const headers = { authorization: 'Bearer ' + token };
require('node:https').get({ host, port, ca, headers, path: '/api/v1/namespaces/default/pods' }, (response) => {
  let body = '';
  response.on('data', (chunk) => { body += chunk; });
  response.on('end', () => console.log(JSON.stringify({ host, answer: JSON.parse(body) })));
});`;

const DENIED = /is forbidden|"reason":"Forbidden"|cannot \w+ resource/;
/** A router may ask for a certificate a moment before the manager lets it read the Secret. It asks again. */
const NOT_YET_GRANTED = /tidegate-router-\w+\\" cannot list resource \\"secrets\\"/;

interface Facts {
  processes: { name: string; user: string; capabilities: string }[];
  root: string;
  programs: string;
  temporary: string;
}

export function containers(cluster: () => RealCluster): void {
  const node = async (namespace: string, pod: string, script: string): Promise<unknown> =>
    JSON.parse(await cluster().exec(namespace, pod, '/usr/bin/node', '-e', script));
  const pods = async (namespace: string, selector = ''): Promise<string[]> => {
    const { items } = await cluster().kubectl.json<KubeList<Pod>>(
      `-n ${namespace} get pods${selector && ` -l ${selector}`}`,
    );
    return items.map(({ metadata }) => `${metadata.name}`);
  };

  test('nginx runs without privileges, on a file system that it cannot change', async () => {
    const { metadata } = await routerPod(cluster().kubectl, 'hangzhou');
    const facts = (await node('ingress-nginx', `${metadata.name}`, FACTS)) as Facts;
    expect(facts.processes.filter(({ name }) => name === 'nginx').length).toBeGreaterThan(1);
    expect(new Set(facts.processes.map(({ user }) => user))).toEqual(new Set(['65532']));
    expect(new Set(facts.processes.map(({ capabilities }) => Number(capabilities)))).toEqual(new Set([0]));
    expect(facts).toMatchObject({ root: 'EROFS', programs: 'EROFS', temporary: 'written' });
  });

  test('nginx accepts its configuration without warnings', async () => {
    for (const pod of await pods('ingress-nginx')) {
      const log = await cluster().kubectl.run(`-n ingress-nginx logs ${pod}`);
      expect(log).toContain('Router of class');
      // For example: the "listen ... http2" directive is deprecated.
      expect(log).not.toContain('deprecated');
    }
  });

  test('a pod reaches the API server through the hub of its node, with the token of its account', async () => {
    const [pod = ''] = await pods('default', 'app=nginx,apps.tidegate.io/edition=hangzhou');
    expect(await node('default', pod, IN_CLUSTER)).toMatchObject({
      host: HUB_ADDRESS,
      answer: {
        reason: 'Forbidden',
        message: expect.stringContaining('system:serviceaccount:default:default'),
      },
    });
    await cluster().kubectl.run(
      'create rolebinding readers --clusterrole=view --serviceaccount=default:default',
    );
    await expect
      .poll(async () => await node('default', pod, IN_CLUSTER))
      .toMatchObject({ host: HUB_ADDRESS, answer: { kind: 'PodList' } });
  });

  test('no component lacks a permission that the manifests do not grant', async () => {
    const denied = (text: string): string[] =>
      text.split('\n').filter((line) => DENIED.test(line) && !NOT_YET_GRANTED.test(line));
    const found: string[] = [];
    for (const namespace of ['tidegate-system', 'ingress-nginx'])
      for (const pod of await pods(namespace))
        found.push(...denied(await cluster().kubectl.run(`-n ${namespace} logs ${pod}`)));
    for (const { directory } of cluster().edge)
      found.push(...denied(readFileSync(join(directory, 'hub.log'), 'utf8')));
    expect(found).toEqual([]);
  });
}
