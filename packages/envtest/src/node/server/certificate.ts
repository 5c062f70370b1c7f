import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Clock,
  type KubeClient,
  type Logger,
  newSigningRequest,
  requestCertificate,
  sleep,
} from '@tidegate/kube';

export interface ServingCertificateOptions {
  client: KubeClient;
  /** PEM of the cluster's authority. */
  ca: string;
  nodeName: string;
  address: string;
  /** Where key and certificate are kept, in one file so that they always fit together. */
  directory: string;
  clock: Clock;
  log: Logger;
}

/** PEM. */
export interface ServingCertificate {
  cert: string;
  key: string;
}

/** Renewed when this much of its life is over: enough is left to wait for a server that is away. */
const USED_UP = 0.8;
const RETRY_MS = 10_000;

/** Calls `use` with a certificate as soon as there is one, and with every one that follows it, until aborted. */
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
      // A very long delay is waited for in pieces.
      if (held !== undefined && renewalDelay(held, clock) > 0) continue;
      held = await obtain(options, signal);
      use(held);
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err }, 'no serving certificate for the kubelet server yet; trying again');
      await sleep(clock, RETRY_MS, signal).catch(() => {}); // Rejects only when aborted: the loop ends.
    }
  }
}

function renewalDelay({ cert }: ServingCertificate, clock: Clock): number {
  const { validFrom, validTo } = new X509Certificate(cert);
  const from = Date.parse(validFrom);
  return Math.max(0, from + (Date.parse(validTo) - from) * USED_UP - clock.now());
}

async function obtain(options: ServingCertificateOptions, signal: AbortSignal): Promise<ServingCertificate> {
  const { client, nodeName, address, directory } = options;
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
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = fileIn(directory);
  await writeFile(`${file}.tmp`, `${key}${cert}`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
  return { cert, key };
}

const fileIn = (directory: string): string => join(directory, 'kubelet-serving.pem');

/** What an earlier agent obtained, if it is still good for this address and this cluster. */
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
    return undefined; // Not a certificate, whatever happened to it: a new one replaces it.
  }
}
