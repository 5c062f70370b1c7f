import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from '../../support/ports.ts';
import { run, TestProcess } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';

/** Debian's Python: the packages contain modules that were compiled for it. */
export const PYTHON = '/usr/bin/python3';

/** The directory that `scripts/setup-octavia` printed: Debian's packages of Octavia, unpacked. */
export const packages = async (): Promise<string> =>
  (await run([repositoryFile('scripts/setup-octavia')])).trim();

export const pythonEnvironment = (root: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
  PYTHONWARNINGS: 'ignore',
  PYTHONDONTWRITEBYTECODE: '1',
  LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu'),
});

export interface OctaviaServerOptions {
  /** `testing` believes the headers X-Project-Id and X-Roles: then roles and quotas have an effect. */
  readonly auth?: 'noauth' | 'testing' | 'keystone';
  /** `octavia`: Octavia's own worker, which is slow. Default: `worker.py`. */
  readonly worker?: 'octavia' | 'fast';
  /** More text for octavia.conf. */
  readonly configuration?: string;
}

/**
 * The API of Octavia and its controller worker, with a real database. There are no virtual machines: Octavia's worker
 * gets drivers that do nothing for computers and networks. `amphora.py` renders the configuration of HAProxy.
 */
export class OctaviaServer {
  readonly url: string;
  /** Files of the local certificate manager. */
  readonly certificates: string;
  readonly #directory: string;
  readonly #root: string;
  readonly #processes: TestProcess[];
  readonly #served = new Map<string, TestProcess>();

  static async start({
    auth = 'noauth',
    configuration = '',
    worker = 'fast',
  }: OctaviaServerOptions = {}): Promise<OctaviaServer> {
    const root = await packages();
    const port = await reservePort();
    const directory = join(tmpdir(), `o${port}`);
    for (const each of ['certs', 'amphora/certs']) await mkdir(join(directory, each), { recursive: true });
    await run([
      ...[
        'openssl',
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=octavia-test',
      ],
      ...['-keyout', join(directory, 'ca.key'), '-out', join(directory, 'ca.pem')],
    ]);
    const file = join(directory, 'octavia.conf');
    await writeFile(file, configurationText(directory, port, auth) + configuration);
    const database = await startDatabase(root, directory, file);
    const program = [PYTHON, repositoryFile('test/octavia/support/serve.py')];
    const server = new TestProcess([...program, file, `127.0.0.1:${port}`, directory], {
      cwd: directory,
      env: { ...pythonEnvironment(root), OCTAVIA_WORKER: worker },
    });
    await server.until(({ stdout }) => stdout.includes('listening'));
    return new OctaviaServer(`http://127.0.0.1:${port}`, directory, root, [server, database]);
  }

  private constructor(url: string, directory: string, root: string, processes: TestProcess[]) {
    this.url = url;
    this.#directory = directory;
    this.#root = root;
    this.#processes = processes;
    this.certificates = join(directory, 'certs');
  }

  /**
   * Runs HAProxy with the configuration that Octavia renders for a load balancer, on these ports in place of 80 and 443.
   * Only what depends on the machine is replaced: addresses, paths, the user, and the number of connections.
   */
  async runHaproxy(loadBalancer: string, { http, https }: { http: number; https: number }): Promise<void> {
    const rendered = await fetch(`${this.url}/test/render/${loadBalancer}`);
    if (!rendered.ok)
      throw new Error(`Octavia cannot render the configuration: ${await rendered.text()} ${this.log}`);
    const text = (await rendered.text())
      .replace(/bind \S+:80(?= |$)/gm, `bind 127.0.0.1:${http}`)
      .replace(/bind \S+:443(?= |$)/gm, `bind 127.0.0.1:${https}`)
      .replace(/^ {4}(daemon|user .*|log .*|log-format .*|stats socket .*|server-state-file .*)\n/gm, '')
      .replace(/^ {4}maxconn \d+$/gm, '    maxconn 2000');
    const old = this.#served.get(loadBalancer);
    const file = join(this.#directory, 'amphora', `${loadBalancer}.cfg`);
    await writeFile(file, text);
    const haproxy = new TestProcess(
      [join(this.#root, 'usr/sbin/haproxy'), '-db', '-f', file, ...(old ? ['-sf', `${old.pid}`] : [])],
      { env: pythonEnvironment(this.#root), cwd: this.#directory },
    );
    this.#served.set(loadBalancer, haproxy);
    for (const port of [http, https]) {
      if (!text.includes(`bind 127.0.0.1:${port}`)) continue;
      // Old and new process share the port until the old one has stopped to listen.
      while ((await listeners(port)) !== `${haproxy.pid}`) {
        if (!haproxy.running) throw new Error(`haproxy ended: ${haproxy.output}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** While held, nothing that the API has recorded is done: objects stay PENDING. Not with Octavia's own worker. */
  async hold(): Promise<void> {
    await writeFile(join(this.#directory, 'hold'), '');
  }

  async release(): Promise<void> {
    await rm(join(this.#directory, 'hold'), { force: true });
  }

  /** Runs SQL in the database of Octavia, for states that its API cannot produce. */
  async sql(statement: string): Promise<void> {
    const program = [
      'import pymysql, sys',
      `c = pymysql.connect(unix_socket=sys.argv[1], user='root', database='octavia', autocommit=True)`,
      'c.cursor().execute(sys.argv[2])',
    ].join('\n');
    const command = [PYTHON, '-c', program, join(this.#directory, 'db.sock'), statement];
    await run(command, { env: pythonEnvironment(this.#root) });
  }

  /** Gives a load balancer pools and listeners without calls of the API, which would take hours for a thousand rules. */
  async fill(loadBalancer: string, tree: object): Promise<void> {
    const body = JSON.stringify(tree);
    const filled = await fetch(`${this.url}/test/fill/${loadBalancer}`, { method: 'POST', body });
    if (!filled.ok) throw new Error(`cannot fill the database: ${await filled.text()} ${this.log}`);
  }

  /** CPU time of the API and the worker in seconds. It does not depend on the load of the machine. */
  async cpuSeconds(): Promise<number> {
    return Number(await (await fetch(`${this.url}/test/cpu`)).text());
  }

  get log(): string {
    return this.#processes[0]?.output ?? '';
  }

  async stop(): Promise<void> {
    for (const each of [...this.#served.values(), ...this.#processes]) await each.kill('SIGKILL');
  }
}

/** Process IDs of the programs that listen on a port. */
async function listeners(port: number): Promise<string> {
  const shown = await run(['ss', '-ltnpH', `sport = :${port}`], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  });
  return [...new Set([...shown.matchAll(/pid=(\d+)/g)].map(([, pid]) => pid))].join(' ');
}

const configurationText = (directory: string, port: number, auth: string): string => `
[DEFAULT]
transport_url = fake://
host = localhost
state_path = ${directory}
[database]
connection = mysql+pymysql://root@localhost/octavia?charset=utf8&unix_socket=${directory}/db.sock
[api_settings]
bind_host = 127.0.0.1
bind_port = ${port}
auth_strategy = ${auth}
enabled_provider_drivers = amphora: the default provider
default_provider_driver = amphora
[controller_worker]
amphora_driver = amphora_noop_driver
compute_driver = compute_noop_driver
network_driver = network_noop_driver
volume_driver = volume_noop_driver
image_driver = image_noop_driver
distributor_driver = distributor_noop_driver
amp_boot_network_list = 44444444-4444-4444-4444-444444444444
amp_flavor_id = 1
amp_image_tag = amphora
amp_active_retries = 5
amp_active_wait_sec = 1
client_ca = ${directory}/ca.pem
[haproxy_amphora]
base_path = ${directory}/amphora
base_cert_dir = ${directory}/amphora/certs
[certificates]
ca_certificate = ${directory}/ca.pem
ca_private_key = ${directory}/ca.key
cert_manager = local_cert_manager
storage_path = ${directory}/certs
`;

/** Starts MariaDB with a database that Octavia's own migrations have created. They run once for each version. */
async function startDatabase(root: string, directory: string, configuration: string): Promise<TestProcess> {
  const template = `${root}.database`;
  const data = join(directory, 'data');
  const exists = await cp(template, data, { recursive: true }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (exists) return startMaria(root, directory);
  await mkdir(data, { recursive: true });
  await run(mariaCommand(root, directory, ['--bootstrap']), {
    env: pythonEnvironment(root),
    input: await systemTables(root),
  });
  const first = await startMaria(root, directory);
  await run(
    [PYTHON, join(root, 'usr/bin/octavia-db-manage'), '--config-file', configuration, 'upgrade', 'head'],
    {
      env: pythonEnvironment(root),
    },
  );
  await first.kill('SIGTERM');
  const copy = `${template}.${process.pid}`;
  await cp(data, copy, { recursive: true });
  // Another run may have been faster: then its copy is used.
  await rename(copy, template).catch(() => {});
  return startMaria(root, directory);
}

async function systemTables(root: string): Promise<string> {
  const parts = ['mysql_system_tables', 'mysql_performance_tables', 'mysql_system_tables_data'];
  const texts = await Promise.all(
    parts.map((part) => readFile(join(root, 'usr/share/mysql', `${part}.sql`), 'utf8')),
  );
  return [
    'create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;',
    ...texts,
    'create database octavia character set utf8mb3;\n',
  ].join('\n');
}

async function startMaria(root: string, directory: string): Promise<TestProcess> {
  const socket = ['--socket', join(directory, 'db.sock'), '--skip-networking', '--skip-grant-tables'];
  const database = new TestProcess(mariaCommand(root, directory, socket), { env: pythonEnvironment(root) });
  await database.until(({ output }) => output.includes('ready for connections'));
  return database;
}

const mariaCommand = (root: string, directory: string, more: readonly string[]): string[] => [
  ...[join(root, 'usr/sbin/mariadbd'), '--no-defaults', `--basedir=${join(root, 'usr')}`],
  ...[`--lc-messages-dir=${join(root, 'usr/share/mysql')}`, `--plugin-dir=${directory}`],
  ...[
    `--character-sets-dir=${join(root, 'usr/share/mysql/charsets')}`,
    `--datadir=${join(directory, 'data')}`,
  ],
  ...['--innodb-log-file-size=8M', '--innodb-buffer-pool-size=32M', '--innodb-flush-log-at-trx-commit=0'],
  ...[
    `--pid-file=${join(directory, 'db.pid')}`,
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    ...more,
  ],
];
