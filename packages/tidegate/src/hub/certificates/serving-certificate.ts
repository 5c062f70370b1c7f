import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type Clock, type KubeClient, type Logger, type Random, SERVICES } from '@tidegate/kube';
import { type KeyPair, newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';
import { clusterAddressesOf, KUBELET_SERVING, KUBERNETES_NAMES } from '../../approval/index.ts';
import { nodeUser } from '../identity/index.ts';
import { RenewedCertificate } from './renewed-certificate.ts';

export interface ServingCertificateOptions {
  /** With the node's credentials. */
  client: KubeClient;
  nodeName: string;
  /** What the hub answers by: hub address and bind address. */
  addresses: readonly string[];
  /** Where it is kept, with its key. */
  file: string;
  clock: Clock;
  random: Random;
  log: Logger;
}

/**
 * What the hub shows to its https clients: to kubelet by the hub's addresses, and to pods, who take it for the API
 * server, by the names and addresses of that. Nothing else is shown while nobody has approved it.
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
    // Signers before 1.27 insist on the second.
    usages: ['digital signature', 'key encipherment', 'server auth'],
    signal,
  });
  return { key, certificate };
}

const covers = (certificate: X509Certificate, names: readonly string[]): boolean =>
  names.every((name) =>
    isIP(name) === 0
      ? certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined
      : certificate.checkIP(name) !== undefined,
  );
