/** What the approver of the manager reads in a signing request, compared with what Kubernetes signs. */
import { X509Certificate } from 'node:crypto';
import { newSigningRequest, parseSigningRequest } from '@tidegate/kube/certificates';
import { hostileRequests } from '@tidegate/kube/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KUBELET_SERVING } from '../../packages/tidegate/src/approval/decide.ts';
import { eventually } from '../support/cluster.ts';
import { Kubectl } from '../support/kubectl.ts';
import { ControlPlane, SERVER_ADDRESS, SERVER_URL } from './support/control-plane.ts';

const NODE = 'edge-1';
const EVIL = 'vault.example.com';
const REQUESTS = [...hostileRequests({ user: `system:node:${NODE}`, harmless: NODE, evil: EVIL })];

let cloud: ControlPlane;
let node: Kubectl;

beforeAll(async () => {
  cloud = await ControlPlane.create();
  await cloud.namespace.addAddress(SERVER_ADDRESS);
  await cloud.start();
  const identity = cloud.credentials.client(`system:node:${NODE}`, 'system:nodes');
  node = new Kubectl(cloud.credentials.kubeconfig(NODE, SERVER_URL, identity), cloud.namespace.wrapper);
});
afterAll(() => cloud?.remove());

/** Undefined if Kubernetes refuses the request. */
async function certificateFor(name: string, request: string): Promise<X509Certificate | undefined> {
  try {
    await node.apply({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        request,
        signerName: KUBELET_SERVING,
        usages: ['digital signature', 'key encipherment', 'server auth'],
      },
    });
  } catch (error) {
    expect(String(error)).toContain('spec.request: Invalid value');
    return undefined;
  }
  await cloud.kubectl.run(`certificate approve ${name}`);
  const certificate = await eventually('the request is signed', async () => {
    const [text, failed] = (
      await cloud.kubectl.run(
        `get csr ${name} -o jsonpath={.status.certificate}/{.status.conditions[?(@.type=="Failed")].type}`,
      )
    ).split('/Failed');
    if (failed !== undefined) return 'failed';
    return text?.replace(/\/$/, '') || undefined;
  });
  return certificate === 'failed' ? undefined : new X509Certificate(Buffer.from(certificate, 'base64'));
}

function namesRead(request: string): string[] | undefined {
  try {
    const { dns, ip } = parseSigningRequest(request).altNames;
    return [...dns, ...ip];
  } catch {
    return undefined;
  }
}

const listed = (names: readonly string[]): string => names.map((name) => `DNS:${name}`).join(', ');

it('an ordinary request: the manager reads the names that Kubernetes signs', async () => {
  const names = [NODE, 'kubernetes.default.svc'];
  const { request } = newSigningRequest({
    commonName: `system:node:${NODE}`,
    organizations: ['system:nodes'],
    dnsNames: names,
  });
  const encoded = Buffer.from(request).toString('base64');
  expect(namesRead(encoded)).toEqual(names);
  expect((await certificateFor('ordinary', encoded))?.subjectAltName).toBe(listed(names));
});

it.each(REQUESTS)(
  '%s: the manager reads the names that Kubernetes signs, or nothing',
  async (what, request) => {
    const certificate = await certificateFor(what.replaceAll(/\W+/g, '-'), request);
    const names = namesRead(request);
    if (names !== undefined && certificate !== undefined)
      expect(certificate.subjectAltName).toBe(listed(names));
  },
);
