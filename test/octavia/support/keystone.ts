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

export const ADMIN_PASSWORD = 'correct horse battery staple';

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
    await keystone.#authenticate();
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

  /** Creates an application credential of the user `admin`. */
  async addCredential(name: string): Promise<{ id: string; secret: string }> {
    const { token } = await this.call('GET', '/v3/auth/tokens', undefined, {
      'x-subject-token': this.#token,
    });
    const { user } = token as { user: { id: string } };
    const path = `/v3/users/${user.id}/application_credentials`;
    const made = await this.call('POST', path, { application_credential: { name } });
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

  async #authenticate(): Promise<void> {
    const user = { name: 'admin', domain: { name: 'Default' }, password: ADMIN_PASSWORD };
    const scope = { project: { name: 'admin', domain: { name: 'Default' } } };
    const response = await fetch(`${this.url}/v3/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity: { methods: ['password'], password: { user } }, scope } }),
    });
    this.#token = `${response.headers.get('x-subject-token')}`;
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
