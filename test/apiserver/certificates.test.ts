/** Requests certificates from the embedded server and uses them, as nodes do. */
import { X509Certificate } from 'node:crypto';
import { CERTIFICATE_SIGNING_REQUESTS, fixedCredential, KubeClient, loadConfig } from '@tidegate/kube';
import { newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';

let embedded: Embedded;
let admin: KubeClient;
beforeAll(async () => {
  embedded = await startEmbedded();
  admin = new KubeClient(await loadConfig({ env: {}, path: embedded.kubeconfig }));
});
afterAll(async () => {
  await admin.close();
  await embedded.stop();
});

const { signal } = new AbortController();
const nodeRequest = (ipAddresses: string[] = []) =>
  newSigningRequest({ commonName: 'system:node:n1', organizations: ['system:nodes'], ipAddresses });

/** A client with the identity of the certificate. */
async function clientFor(namePrefix: string, signerName: string, made: { key: string; request: string }) {
  const cert = await requestCertificate(admin, {
    namePrefix,
    request: made.request,
    signerName,
    usages: ['digital signature', 'client auth'],
    approve: true,
    signal,
  });
  return new KubeClient({ ...admin.config, credentials: fixedCredential({ cert, key: made.key }) });
}

test('issues a certificate for an approved request', async () => {
  const made = newSigningRequest({ commonName: 'system:kube-proxy' });
  const client = await clientFor('kube-proxy-', 'kubernetes.io/kube-apiserver-client', made);
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} };
  const answer = await client.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(review),
  });
  expect(answer).toMatchObject({ status: { userInfo: { username: 'system:kube-proxy' } } });
  await client.close();
});

test('issues the serving certificate of a node once an administrator approves it', async () => {
  const node = await clientFor('node-', 'kubernetes.io/kube-apiserver-client-kubelet', nodeRequest());
  const waiting = requestCertificate(node, {
    namePrefix: 'serving-',
    request: nodeRequest(['127.64.0.1']).request,
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    signal,
  });
  const watch = await admin.watch(CERTIFICATE_SIGNING_REQUESTS, {
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  });
  for await (const { object } of watch) {
    if (!object.metadata.name?.startsWith('serving-')) continue;
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'yes' }];
    await admin.update(
      CERTIFICATE_SIGNING_REQUESTS,
      { ...object, status: { conditions } },
      { subresource: 'approval' },
    );
    break;
  }
  const certificate = new X509Certificate(await waiting);
  expect(certificate.checkIP('127.64.0.1')).toBe('127.64.0.1');
  expect(certificate.verify(new X509Certificate(admin.config.ca!).publicKey)).toBe(true);
  await node.close();
});

test('reports why a request cannot be signed', async () => {
  const asked = requestCertificate(admin, {
    namePrefix: 'bad-',
    request: newSigningRequest({ commonName: 'jane' }).request,
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    approve: true,
    signal,
  });
  await expect(asked).rejects.toThrow(
    /^CertificateSigningRequest bad-\w+ \(kubernetes.io\/kubelet-serving\) was not signed: SignerValidationFailure: subject organization is not system:nodes$/,
  );
});

test('stops waiting when the request is aborted', async () => {
  const stop = new AbortController();
  const asked = requestCertificate(admin, {
    namePrefix: 'pending-',
    request: newSigningRequest({ commonName: 'jane' }).request,
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
    signal: stop.signal,
  });
  const watch = await admin.watch(CERTIFICATE_SIGNING_REQUESTS, {
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  });
  for await (const { object } of watch) if (object.metadata.name?.startsWith('pending-')) break;
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
});

const openRequest = (name: string) =>
  admin.create(CERTIFICATE_SIGNING_REQUESTS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(nodeRequest().request).toString('base64'),
      signerName: 'example.com/signer',
      usages: ['client auth'],
    },
  });

test('accepts a merge patch of the approval, and changes conditions and metadata only', async () => {
  await openRequest('patched');
  const condition = { type: 'Approved', status: 'True' as const, reason: 'Test' };
  const patch = {
    metadata: { annotations: { checked: 'yes' } },
    spec: { signerName: 'example.com/other' },
    status: { conditions: [condition], certificate: 'QQ==' },
  };
  const target = { name: 'patched', subresource: 'approval' };
  const approved = await admin.patch(CERTIFICATE_SIGNING_REQUESTS, target, 'merge', patch);
  expect(approved).toMatchObject({
    metadata: { annotations: { checked: 'yes' } },
    spec: { signerName: 'example.com/signer' },
    status: { conditions: [{ ...condition, lastUpdateTime: expect.any(String) }] },
  });
  expect(approved.status?.certificate).toBeUndefined();
});

test('refuses an approval through the status, which has a permission of its own', async () => {
  await openRequest('sneaky');
  const target = { name: 'sneaky', subresource: 'status' };
  const patch = { status: { conditions: [{ type: 'Approved', status: 'True' }] } };
  await expect(admin.patch(CERTIFICATE_SIGNING_REQUESTS, target, 'merge', patch)).rejects.toThrow(
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  );
});
