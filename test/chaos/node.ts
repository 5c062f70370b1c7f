import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CredentialSource, fixedCredential, KubeClient } from '@tidegate/kube';
import { clientCertificate } from '../support/accounts.ts';
import { reservePort } from '../support/ports.ts';
import { Tidegate } from '../support/tidegate.ts';
import { say } from '../support/wire.ts';
import { Link } from './link.ts';

/** The columns of `/v1/views` on the admin socket that are used here. */
export interface ViewRow {
  identity: string;
  resource: string;
  fieldSelector: string;
  clients: number;
}

/** The resources that the process of a hub uses. */
export interface HubUsage {
  megabytes: number;
  /** Open files and connections. */
  descriptors: number;
}

interface Ports {
  http: number;
  https: number;
  admin: number;
}

/** A node: its link, and its hub as a process that may be killed. */
export class ChaosNode {
  readonly name: string;
  readonly ports: Ports;
  readonly link: Link;
  readonly #admin: KubeClient;
  readonly #directory: string;
  readonly #credentials: CredentialSource;
  #hub: Tidegate | undefined;
  /** The logs of hubs that were killed. */
  log = '';

  private constructor(
    name: string,
    link: Link,
    ports: Ports,
    admin: KubeClient,
    directory: string,
    credentials: CredentialSource,
  ) {
    this.name = name;
    this.link = link;
    this.ports = ports;
    this.#admin = admin;
    this.#directory = directory;
    this.#credentials = credentials;
  }

  static async open(name: string, admin: KubeClient, parent: string): Promise<ChaosNode> {
    const directory = join(parent, name);
    await mkdir(directory);
    const link = new Link(await reservePort(), Number(new URL(admin.config.server).port));
    await link.set('open');
    const ports = { http: await reservePort(), https: await reservePort(), admin: await reservePort() };
    const { cert, key } = await clientCertificate(admin, `system:node:${name}`);
    await writeFile(join(directory, 'kubeconfig'), kubeconfig(link.port, admin.config.ca ?? '', cert, key));
    return new ChaosNode(name, link, ports, admin, directory, fixedCredential({ cert, key }));
  }

  get running(): boolean {
    return this.#hub?.running === true;
  }

  /** Resolves when it listens. */
  async startHub(): Promise<void> {
    if (this.running) return;
    const { http, https, admin } = this.ports;
    const hub = new Tidegate([
      'hub',
      ...['--node-name', this.name, '--kubeconfig', join(this.#directory, 'kubeconfig')],
      ...['--state', join(this.#directory, 'state'), '--hub-address', '127.0.0.1'],
      ...['--http-port', String(http), '--https-port', String(https), '--admin-port', String(admin)],
    ]);
    this.#hub = hub;
    while (!hub.stdout.includes('Hub of node')) {
      if (!hub.running) throw new Error(`the hub of ${this.name} did not start: ${hub.stderr}`);
      await sleep(20);
    }
  }

  /** SIGTERM lets the hub shut down gracefully. */
  async killHub(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const hub = this.#hub;
    if (hub === undefined) return;
    if (!hub.running) throw new Error(`the hub of ${this.name} exited by itself: ${hub.stderr}`);
    await hub.kill(signal);
    this.log += hub.stderr;
    this.#hub = undefined;
  }

  /** Authenticated as the node, with its certificate. */
  asNode(program: string): KubeClient {
    return this.#connect('https', this.ports.https, this.#credentials, program);
  }

  asBearer(token: string, program: string): KubeClient {
    const credentials = fixedCredential({ authorization: `Bearer ${token}` });
    return this.#connect('http', this.ports.http, credentials, program);
  }

  async page<Row>(name: 'views' | 'journal'): Promise<Row[]> {
    const answer = await say({ socketPath: join(this.#directory, 'state', 'hub-admin.sock') }, `/v1/${name}`);
    return answer.json<Row[]>();
  }

  async ready(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.ports.admin}/v1/readyz`)).ok;
  }

  async usage(): Promise<HubUsage> {
    const process = `/proc/${this.#hub?.pid}`;
    const status = await readFile(`${process}/status`, 'utf8');
    const megabytes = Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
    return { megabytes, descriptors: (await readdir(`${process}/fd`)).length };
  }

  async close(): Promise<void> {
    this.log += this.#hub?.stderr ?? '';
    await this.#hub?.kill('SIGKILL');
    await this.link.set('cut');
    await writeFile(join(this.#directory, 'hub.log'), this.log);
  }

  #connect(scheme: string, port: number, credentials: CredentialSource, program: string): KubeClient {
    const config = { ...this.#admin.config, server: `${scheme}://127.0.0.1:${port}`, credentials };
    return new KubeClient(config, { userAgent: `${program}/v1.36.4`, maxRetries: 0 });
  }
}

function kubeconfig(port: number, ca: string, cert: string, key: string): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': base64(ca) };
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
  return JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}
