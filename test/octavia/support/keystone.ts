import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { reservePort } from '../../support/ports.ts';
import { run, TestProcess } from '../../support/process.ts';
import { PYTHON, packages, pythonEnvironment } from './octavia.ts';

/** Serves Keystone's own application. Prints "listening" when it accepts requests. */
const SERVER = `
import os, sys
from gunicorn.app.base import BaseApplication
file, bind = sys.argv[1:]
# Keystone would read the arguments too.
sys.argv = ['keystone']
os.environ['OS_KEYSTONE_CONFIG_FILES'] = file
class Server(BaseApplication):
    def load_config(self):
        settings = {'bind': bind, 'worker_class': 'gthread', 'threads': 4, 'timeout': 0, 'graceful_timeout': 1,
                    'post_worker_init': lambda _: print('listening', flush=True)}
        for key, value in settings.items():
            self.cfg.set(key, value)
    def load(self):
        from keystone.server.wsgi import initialize_public_application
        return initialize_public_application()
Server().run()
`;

/**
 * A thread of Keystone can keep a read transaction open after its request. Without a write-ahead log, no other thread could
 * write then: "database is locked" after 5 seconds.
 */
const WRITE_AHEAD = `
import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode = WAL')
`;

const ADMIN_PASSWORD = 'correct horse battery staple';
/** The user that Keystone is created with. Its project has the same name. */
export const ADMIN = { name: 'admin', password: ADMIN_PASSWORD };

export interface KeystoneUser {
  readonly name: string;
  readonly password: string;
  readonly userId: string;
  readonly projectId: string;
}

/** Keystone of Debian's packages, with a database in a file. The user `admin` has the project `admin`. */
export class KeystoneServer {
  readonly url: string;
  readonly #process: TestProcess;
  #token = '';

  /** `lifeSeconds`: how long tokens are valid. */
  static async start(lifeSeconds = 3600): Promise<KeystoneServer> {
    const root = await packages();
    const port = await reservePort();
    const directory = join(tmpdir(), `k${port}`);
    for (const each of ['fernet', 'credential'])
      await mkdir(join(directory, each), { recursive: true, mode: 0o700 });
    const file = join(directory, 'keystone.conf');
    await writeFile(file, configuration(directory, lifeSeconds));
    const env = pythonEnvironment(root);
    const manage = (...args: string[]): Promise<string> =>
      run([PYTHON, join(root, 'usr/bin/keystone-manage'), '--config-file', file, ...args], {
        env,
        cwd: directory,
      });
    await manage('db_sync');
    await run([PYTHON, '-c', WRITE_AHEAD, join(directory, 'keystone.db')]);
    const group = (await run(['id', '-gn'])).trim();
    await manage('fernet_setup', '--keystone-user', userInfo().username, '--keystone-group', group);
    const url = `http://127.0.0.1:${port}`;
    await manage(
      ...['bootstrap', '--bootstrap-password', ADMIN_PASSWORD, '--bootstrap-public-url', url],
      ...['--bootstrap-region-id', 'RegionOne'],
    );
    const server = new TestProcess([PYTHON, '-c', SERVER, file, `127.0.0.1:${port}`], {
      env,
      cwd: directory,
    });
    await server.until(({ stdout }) => stdout.includes('listening'));
    const keystone = new KeystoneServer(url, server);
    keystone.#token = (await keystone.tokenOf(ADMIN)).token;
    return keystone;
  }

  private constructor(url: string, process: TestProcess) {
    this.url = url;
    this.#process = process;
  }

  /** Adds a service with a public endpoint to the catalog. */
  async addService(type: string, url: string): Promise<void> {
    const { service } = await this.call('POST', '/v3/services', { service: { type, name: type } });
    const endpoint = {
      service_id: (service as { id: string }).id,
      interface: 'public',
      url,
      region_id: 'RegionOne',
    };
    await this.call('POST', '/v3/endpoints', { endpoint });
  }

  /** Creates a user with roles in a project that has the name of the user. */
  async addUser(name: string, ...roles: string[]): Promise<KeystoneUser> {
    const password = randomUUID();
    const make = async (kind: string, one: string, fields: object): Promise<string> => {
      const made = await this.call('POST', `/v3/${kind}`, {
        [one]: { domain_id: 'default', name, ...fields },
      });
      return (made[one] as { id: string }).id;
    };
    const projectId = await make('projects', 'project', {});
    const userId = await make('users', 'user', { password });
    for (const role of roles)
      await this.call('PUT', `/v3/projects/${projectId}/users/${userId}/roles/${await this.#role(role)}`);
    return { name, password, userId, projectId };
  }

  /** The variables with which programs authenticate as the user. */
  environmentOf({ name, password }: Pick<KeystoneUser, 'name' | 'password'>): Record<string, string> {
    return {
      OS_AUTH_URL: `${this.url}/v3`,
      OS_USERNAME: name,
      OS_PASSWORD: password,
      OS_PROJECT_NAME: name,
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
    };
  }

  /** Creates an application credential of a user, with a token of the user. No other user may create it. */
  async addCredential(name: string, user = ADMIN): Promise<{ id: string; secret: string }> {
    const { token, userId } = await this.tokenOf(user);
    const path = `/v3/users/${userId}/application_credentials`;
    const made = await this.call(
      'POST',
      path,
      { application_credential: { name } },
      { 'x-auth-token': token },
    );
    return made.application_credential as { id: string; secret: string };
  }

  /** Makes a token invalid, as an administrator can. */
  async revoke(token: string): Promise<void> {
    await this.call('DELETE', '/v3/auth/tokens', undefined, { 'x-subject-token': token });
  }

  /** Whether a token is valid, as the services of a cloud ask. */
  async isValid(token: string): Promise<boolean> {
    const headers = { 'x-auth-token': this.#token, 'x-subject-token': token };
    return (await fetch(`${this.url}/v3/auth/tokens`, { headers })).status === 200;
  }

  async call(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-auth-token': this.#token, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  async tokenOf({ name, password }: Pick<KeystoneUser, 'name' | 'password'>) {
    const user = { name, domain: { name: 'Default' }, password };
    const scope = { project: { name, domain: { name: 'Default' } } };
    const response = await fetch(`${this.url}/v3/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity: { methods: ['password'], password: { user } }, scope } }),
    });
    const body = (await response.json()) as { token: { user: { id: string } } };
    return { token: `${response.headers.get('x-subject-token')}`, userId: body.token.user.id };
  }

  /** The ID of a role, which is created if it does not exist. */
  async #role(name: string): Promise<string> {
    const { roles } = (await this.call('GET', `/v3/roles?name=${name}`)) as { roles: { id: string }[] };
    if (roles[0] !== undefined) return roles[0].id;
    const { role } = await this.call('POST', '/v3/roles', { role: { name } });
    return (role as { id: string }).id;
  }

  async stop(): Promise<void> {
    await this.#process.kill('SIGKILL');
  }
}

const configuration = (directory: string, lifeSeconds: number): string => `
[database]
connection = sqlite:///${directory}/keystone.db
[token]
provider = fernet
expiration = ${lifeSeconds}
[fernet_tokens]
key_repository = ${directory}/fernet
[fernet_receipts]
key_repository = ${directory}/fernet
[credential]
key_repository = ${directory}/credential
`;

/** A section of the configuration of a service that asks Keystone, as the administrator, about each token. */
export const keystoneSettings = (url: string, section: string): string => `
[${section}]
auth_type = password
auth_url = ${url}
www_authenticate_uri = ${url}
username = ${ADMIN.name}
password = ${ADMIN.password}
project_name = ${ADMIN.name}
user_domain_name = Default
project_domain_name = Default
region_name = RegionOne
interface = public
token_cache_time = -1
`;
