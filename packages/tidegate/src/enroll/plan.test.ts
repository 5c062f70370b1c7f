import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSignedCa } from '@tidegate/kube/certificates';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type Layout, layoutIn } from './files.ts';
import { type EnrollRequest, planEnrollment } from './plan.ts';
import type { EnrollmentRecord } from './record.ts';

const SERVER = 'https://192.0.2.1:6443';
const HUB = 'https://127.0.0.1:10268';
const LISTENERS = { bindAddress: '127.0.0.1', hubAddress: '169.254.2.1', httpPort: 10261, httpsPort: 10268 };

let root: string;
let layout: Layout;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidegate-enroll-'));
  layout = layoutIn(root);
  for (const folder of ['etc/kubernetes', 'var/lib/tidegate', 'var/lib/kubelet/pki'])
    mkdirSync(join(root, folder), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

function writeKubeconfig(file: string, server: string, user: object = { token: 'secret' }): void {
  const kubeconfig = {
    'current-context': 'node',
    contexts: [{ name: 'node', context: { cluster: 'cluster', user: 'node' } }],
    clusters: [{ name: 'cluster', cluster: { server } }],
    users: [{ name: 'node', user }],
  };
  writeFileSync(file, stringify(kubeconfig));
}

const plan = (request: Partial<EnrollRequest> = {}) =>
  planEnrollment({
    ...{ layout, nodeName: 'shop-1', mode: 'systemd', listeners: LISTENERS, others: [] },
    ...request,
  });

const record = (change: Partial<EnrollmentRecord>): void =>
  writeFileSync(
    layout.record,
    JSON.stringify({ nodeName: 'shop-1', mode: 'systemd', takenOver: [], created: [], ...change }),
  );

describe('a second installation', () => {
  it('remembers files that an earlier one took over, so that the removal gives them back', () => {
    const proxy = join(root, 'etc/kubernetes/kube-proxy.conf');
    for (const file of [layout.kubelet, proxy]) writeKubeconfig(file, HUB);
    const takenOver = [layout.kubelet, proxy].map((file) => ({ file, server: SERVER }));
    record({ takenOver, created: [layout.unit] });
    const enrollment = plan();
    expect(enrollment.record.takenOver).toEqual(takenOver);
    expect(enrollment.record.created).toContain(layout.unit);
  });

  it('does not start a second hub next to one of another kind', () => {
    writeKubeconfig(layout.kubelet, SERVER);
    record({ mode: 'static-pod' });
    expect(() => plan()).toThrow('a hub is installed as static-pod: run tidegate hub uninstall first');
  });
});

it('a file to take over that does not exist is an error', () => {
  writeKubeconfig(layout.kubelet, SERVER);
  const file = join(root, 'etc/kubernetes/kube-prxoy.conf');
  expect(() => plan({ others: [file] })).toThrow(`--take-over ${file}: the file does not exist`);
});

describe('the certificate of the kubelet', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = selfSignedCa(
    { commonName: 'system:node:ip-192-0-2-7.internal', organizations: ['system:nodes'] },
    privateKey,
    { notBefore: new Date(), notAfter: new Date(Date.now() + 3_600_000) },
  );

  it('says the name of the node, which may differ from the name of the host', () => {
    writeFileSync(
      join(root, 'var/lib/kubelet/pki/current.pem'),
      `${certificate}${privateKey.export({ type: 'pkcs8', format: 'pem' })}`,
    );
    writeKubeconfig(layout.kubelet, SERVER, { 'client-certificate': '/var/lib/kubelet/pki/current.pem' });
    const name = 'ip-192-0-2-7.internal';
    expect(() => plan()).toThrow(`the kubelet is node ${name}, not shop-1: set --node-name ${name}`);
    expect(plan({ nodeName: name }).record.nodeName).toBe(name);
  });

  it('can be in the kubeconfig itself', () => {
    const data = Buffer.from(certificate).toString('base64');
    writeKubeconfig(layout.kubelet, SERVER, { 'client-certificate-data': data });
    expect(() => plan()).toThrow('set --node-name ip-192-0-2-7.internal');
  });
});
