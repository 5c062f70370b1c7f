import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate, type SecureVersion } from 'node:tls';
import { INGRESS_CLASSES, INGRESSES, SECRETS } from '@tidegate/kube';
import { expect } from 'vitest';
import {
  HOST_CLAIMS,
  L7_ROUTERS,
  SHARED_PODS_LABEL,
  sectionPorts,
} from '../../../packages/tidegate/src/api/index.ts';
import {
  hostClaim,
  type IngressFields,
  ingress,
  secret,
} from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { eventually } from '../../support/cluster.ts';
import type { DataPlane } from '../../support/data-plane.ts';
import type { EmbeddedWithKinds } from '../../support/embedded.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import { Tidegate } from '../../support/tidegate.ts';

const PODS = 'front';

interface Joining extends Pick<IngressFields, 'rules' | 'annotations' | 'defaultBackend'> {
  section: number;
  /** Certificates by the host that they are for. */
  certificates?: Record<string, { certificate: string; key: string }>;
}

/** Creates what the manager would: a class, its Ingress and HostClaims, and its L7Router with a section. */
export async function joinPods(
  { client }: EmbeddedWithKinds,
  name: string,
  { section, rules = {}, certificates = {}, annotations, defaultBackend }: Joining,
): Promise<void> {
  const hosts = [...new Set(Object.keys(rules).map((where) => where.split('/')[0]!))].sort();
  for (const [host, pair] of Object.entries(certificates))
    await client.create(SECRETS, secret(`${name}.${host}`, pair));
  await client.create(INGRESS_CLASSES, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name },
    spec: { controller: 'tidegate.io/nginx' },
  });
  for (const host of hosts) await client.create(HOST_CLAIMS, hostClaim(host, 'shop', { className: name }));
  const tls = Object.keys(certificates).map((host) => ({ hosts: [host], secretName: `${name}.${host}` }));
  await client.create(
    INGRESSES,
    ingress({ name, className: name, rules, tls, annotations, ...(defaultBackend && { defaultBackend }) }),
  );
  await client.create(L7_ROUTERS, {
    apiVersion: 'networking.tidegate.io/v1alpha1',
    kind: 'L7Router',
    metadata: { name: `${name}-router`, labels: { [SHARED_PODS_LABEL]: PODS } },
    spec: { ingressClassName: name, driver: 'nginx', hosts, workload: { sharedPods: PODS, section } },
  });
}

/** Deletes what `joinPods` created. */
export async function leavePods({ client }: EmbeddedWithKinds, name: string): Promise<void> {
  await client.delete(L7_ROUTERS, { name: `${name}-router` });
  await client.delete(INGRESSES, { name, namespace: 'shop' });
  const claims = await client.list(HOST_CLAIMS);
  for (const { metadata, spec } of claims.items)
    if (spec.ingressClassName === name) await client.delete(HOST_CLAIMS, { name: `${metadata.name}` });
  await client.delete(INGRESS_CLASSES, { name });
  const { items } = await client.list(SECRETS, { namespace: 'shop' });
  for (const { metadata } of items)
    if (metadata.name?.startsWith(`${name}.`))
      await client.delete(SECRETS, { name: metadata.name, namespace: 'shop' });
}

/** The state of a pod that several routers share, and the processes that run in it one after the other. */
export class SharedPod {
  /** The ports of sections are fixed, so each pod has an address of its own. */
  readonly address = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  readonly #cluster: EmbeddedWithKinds;
  readonly #dataPlane: DataPlane;
  readonly #directory: string;
  #process: Tidegate | undefined;
  admin = '';

  static async create(cluster: EmbeddedWithKinds, dataPlane: DataPlane): Promise<SharedPod> {
    return new SharedPod(cluster, dataPlane, await mkdtemp(join(tmpdir(), 'tidegate-test-')));
  }

  private constructor(cluster: EmbeddedWithKinds, dataPlane: DataPlane, directory: string) {
    this.#cluster = cluster;
    this.#dataPlane = dataPlane;
    this.#directory = directory;
  }

  /** What the running process has written. */
  get output(): string {
    return this.#process?.output ?? '';
  }

  get accessLog(): string {
    return join(this.#directory, 'access.log');
  }

  get state(): string {
    return join(this.#directory, 'state');
  }

  /** Starts the process and waits until it is ready. */
  async start({ offline = false } = {}): Promise<void> {
    await this.launch({ offline });
    await expect.poll(() => this.readiness()).toMatchObject({ code: 200 });
  }

  /** Starts the process and waits for its admin port. */
  async launch({ offline = false } = {}): Promise<void> {
    const nowhere = join(this.#directory, 'nowhere');
    const kubeconfig = await readFile(this.#cluster.kubeconfig, 'utf8');
    await writeFile(nowhere, kubeconfig.replace(this.#cluster.url, `https://127.0.0.1:${CLOSED_PORTS[0]}`));
    const running = new Tidegate([
      ...['router', '--shared-pods', PODS, '--data-plane', this.#dataPlane, '--state', this.state],
      ...['--kubeconfig', offline ? nowhere : this.#cluster.kubeconfig, '--bind-address', this.address],
      ...['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--shutdown-delay', '1ms'],
      ...['--access-log', this.accessLog],
    ]);
    this.#process = running;
    this.admin = await eventually('the pod prints its admin port', () => {
      if (!running.running) throw new Error(running.output);
      return /; admin at (http:.*)\.$/m.exec(running.stdout)?.[1];
    });
  }

  async readiness(): Promise<{ code: number; body: string }> {
    const answer = await fetch(`${this.admin}/readyz`);
    return { code: answer.status, body: await answer.text() };
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.admin}/metrics`)).text();
  }

  /** As the kernel does it when memory is short: nothing can be written any more. */
  async kill(): Promise<void> {
    const killed = this.#process;
    killed?.signal('SIGKILL');
    // An nginx that outlives the agent keeps its output open. The next agent ends it.
    await expect.poll(() => killed?.running).not.toBe(true);
  }

  async remove(): Promise<void> {
    await this.#process?.kill('SIGTERM');
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** The status of a request at the address of a section; 0 if the connection fails. */
  ask(section: number, url: string, headers: Record<string, string> = {}): Promise<number> {
    const [host = '', path = ''] = url.split(/(?=\/)/, 2);
    const target = { host: this.address, port: sectionPorts(section).http, path: path || '/', agent: false };
    return new Promise((resolve) => {
      request({ ...target, headers: { host, ...headers } }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', () => resolve(0))
        .end();
    });
  }

  /** The certificate that the section presents for a server name. With `session`, a client that resumes a session. */
  async shake(
    section: number,
    servername: string,
    { session, version }: { session?: Buffer; version?: SecureVersion } = {},
  ): Promise<Handshake> {
    const target = { host: this.address, port: sectionPorts(section).https, rejectUnauthorized: false };
    const limits = version && { minVersion: version, maxVersion: version };
    return new Promise((resolve, reject) => {
      const sessions: Buffer[] = [];
      const socket = connect({ ...target, ...limits, servername, session }, () => {
        socket.write(`GET / HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`);
      });
      const facts: { certificate?: PeerCertificate; resumed?: boolean } = {};
      socket.on('session', (each) => sessions.push(each));
      socket.once('secureConnect', () => {
        facts.certificate = socket.getPeerCertificate();
        facts.resumed = socket.isSessionReused();
      });
      socket.on('error', reject);
      // TLS 1.3 sends tickets after the handshake.
      socket.resume().on('end', () => {
        const fingerprint = facts.certificate?.fingerprint256 ?? '';
        resolve({ fingerprint, resumed: facts.resumed === true, session: sessions.at(-1) });
        socket.destroy();
      });
    });
  }
}

export interface Handshake {
  fingerprint: string;
  resumed: boolean;
  session: Buffer | undefined;
}
