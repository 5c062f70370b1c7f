import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type Clock, type KubeClient, type Logger, type Random, SERVICES } from '@tidegate/kube';
import { type KeyPair, newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';
import { clusterAddressesOf, KUBELET_SERVING, KUBERNETES_NAMES } from '../../approval/index.ts';
import { nodeUser } from '../identity/index.ts';
import { RenewedCertificate } from './renewed-certificate.ts';

export interface ServingCertificateOptions {
  /** A client with the credentials of the node. */
  client: KubeClient;
  nodeName: string;
  /** The addresses of the hub: hub address and bind address. */
  addresses: readonly string[];
  /** The file for the certificate and its key. */
  file: string;
  clock: Clock;
  random: Random;
  log: Logger;
}

/**
 * The certificate that the hub serves HTTPS with. It contains the addresses of the hub, for the kubelet, and
 * the names and addresses of the API server, for pods, which connect to the hub in place of the API server.
 * Until the request is approved, the hub has no certificate and refuses TLS handshakes; it never falls back
 * to a self-signed certificate.
 */
export async function openServingCertificate(
  options: ServingCertificateOptions,
): Promise<RenewedCertificate> {
  const { client, file, clock, random, log } = options;
  return RenewedCertificate.open({
    what: 'serving certificate',
    file,
    commonName: nodeUser(options.nodeName),
    obtain: async (signal) => obtain(options, await wantedNames(options, signal), signal),
    fits: async (certificate, signal) => covers(certificate, await wantedNames(options, signal)),
    clock,
    random,
    log,
  });

  async function wantedNames(
    { addresses }: ServingCertificateOptions,
    signal: AbortSignal,
  ): Promise<string[]> {
    // A cluster IP that was added later, for example by a change to dual-stack, makes the certificate not
    // fit.
    const kubernetes = await client.get(SERVICES, { namespace: 'default', name: 'kubernetes' }, { signal });
    const own = addresses.filter((address) => address !== '0.0.0.0' && address !== '::');
    const names = [...own, ...clusterAddressesOf(kubernetes), ...KUBERNETES_NAMES, 'localhost'];
    return [...new Set(names)];
  }
}

async function obtain(
  { client, nodeName }: ServingCertificateOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<KeyPair> {
  const { key, request } = newSigningRequest({
    commonName: nodeUser(nodeName),
    organizations: ['system:nodes'],
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: names.filter((name) => isIP(name) !== 0),
  });
  const certificate = await requestCertificate(client, {
    namePrefix: `tidegate-hub-serving-${nodeName}-`,
    request,
    signerName: KUBELET_SERVING,
    // Before Kubernetes 1.27, signers require key encipherment for every type of key.
    usages: ['digital signature', 'key encipherment', 'server auth'],
    signal,
  });
  return { key, certificate };
}

/** Names must be in the alternative names of the certificate. Clients ignore the common name (RFC 6125). */
const covers = (certificate: X509Certificate, names: readonly string[]): boolean =>
  names.every((name) =>
    isIP(name) === 0
      ? certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined
      : certificate.checkIP(name) !== undefined,
  );
