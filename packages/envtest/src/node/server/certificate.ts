import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '@tidegate/disk';
import { type Clock, type KubeClient, type Logger, sleep } from '@tidegate/kube';
import { newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';

/** The node for which a serving certificate is requested, and where it is kept. */
export interface ServingCertificateOptions {
  client: KubeClient;
  /** The cluster's CA certificate, in PEM. */
  ca: string;
  nodeName: string;
  address: string;
  /** Holds the key and the certificate, in one file so that they always match. */
  directory: string;
  clock: Clock;
  log: Logger;
}

/** PEM. */
export interface ServingCertificate {
  cert: string;
  key: string;
}

/** Renewed when this fraction of its lifetime has passed; the rest is enough to wait for an unreachable API server. */
const RENEWAL_FRACTION = 0.8;
const RETRY_MS = 10_000;

/** Calls `use` with the first certificate as soon as it is available, and with every renewed one, until aborted. */
export async function keepServingCertificate(
  options: ServingCertificateOptions,
  use: (certificate: ServingCertificate) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = options;
  let held = readStored(options);
  if (held !== undefined) use(held);
  while (!signal.aborted) {
    try {
      if (held !== undefined) await sleep(clock, renewalDelay(held, clock), signal);
      // A timer has a maximum delay, so a long delay takes several rounds.
      if (held !== undefined && renewalDelay(held, clock) > 0) continue;
      held = await obtain(options, signal);
      use(held);
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err }, 'cannot obtain a serving certificate for the kubelet server; will retry');
      await sleep(clock, RETRY_MS, signal).catch(() => {}); // Rejects only when aborted, which ends the loop.
    }
  }
}

function renewalDelay({ cert }: ServingCertificate, clock: Clock): number {
  const { validFrom, validTo } = new X509Certificate(cert);
  const from = Date.parse(validFrom);
  return Math.max(0, from + (Date.parse(validTo) - from) * RENEWAL_FRACTION - clock.now());
}

async function obtain(options: ServingCertificateOptions, signal: AbortSignal): Promise<ServingCertificate> {
  const { client, nodeName, address, directory, log } = options;
  const { key, request } = newSigningRequest({
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    dnsNames: [nodeName],
    ipAddresses: [address],
  });
  const cert = await requestCertificate(client, {
    namePrefix: `kubelet-serving-${nodeName}-`,
    request,
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    signal,
  });
  try {
    writeFileAtomically(fileIn(directory), `${key}${cert}`, 0o600);
  } catch (err) {
    log.warn({ err }, 'cannot store the serving certificate; the next start requests a new one');
  }
  return { cert, key };
}

const fileIn = (directory: string): string => join(directory, 'kubelet-serving.pem');

/** The certificate of an earlier agent, if it is still valid for this address and this cluster. */
function readStored({
  directory,
  address,
  ca,
  clock,
}: ServingCertificateOptions): ServingCertificate | undefined {
  if (!existsSync(fileIn(directory))) return undefined;
  const text = readFileSync(fileIn(directory), 'utf8');
  const begin = text.indexOf('-----BEGIN CERTIFICATE-----');
  if (begin < 0) return undefined;
  const stored = { key: text.slice(0, begin), cert: text.slice(begin) };
  try {
    const certificate = new X509Certificate(stored.cert);
    const usable =
      certificate.verify(new X509Certificate(ca).publicKey) &&
      certificate.checkIP(address) !== undefined &&
      Date.parse(certificate.validTo) > clock.now();
    return usable ? stored : undefined;
  } catch {
    return undefined; // Not a valid certificate; a new one replaces it.
  }
}
