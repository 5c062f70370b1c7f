import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from '../../support/ports.ts';
import { TestProcess } from '../../support/process.ts';
import { keystoneSettings } from './keystone.ts';
import { PYTHON, packages, pythonEnvironment } from './octavia.ts';

/** Serves Barbican's own application, behind Keystone's middleware. Prints "listening" when it accepts requests. */
const SERVER = `
import sys
from gunicorn.app.base import BaseApplication
bind = sys.argv[1]
# Barbican would read the arguments too. It finds its configuration in the home directory.
sys.argv = ['barbican']
class Server(BaseApplication):
    def load_config(self):
        settings = {'bind': bind, 'timeout': 0, 'graceful_timeout': 1,
                    'post_worker_init': lambda _: print('listening', flush=True)}
        for key, value in settings.items():
            self.cfg.set(key, value)
    def load(self):
        from keystonemiddleware.auth_token import AuthProtocol
        from barbican.api import app
        from barbican.api.middleware.context import ContextMiddleware
        from barbican.api.middleware.microversion import MicroversionMiddleware
        api = AuthProtocol(ContextMiddleware(MicroversionMiddleware(app.create_main_app({}))),
                           {'oslo_config_config': app.CONF})
        versions = app.create_version_app({})
        def route(environ, start_response):
            path = environ['PATH_INFO']
            if path != '/v1' and not path.startswith('/v1/'):
                return versions(environ, start_response)
            environ = {**environ, 'SCRIPT_NAME': environ.get('SCRIPT_NAME', '') + '/v1', 'PATH_INFO': path[3:] or '/'}
            return api(environ, start_response)
        return route
Server().run()
`;

/** Barbican of Debian's packages, with a database in a file. Secrets are encrypted with a key of its configuration. */
export class BarbicanServer {
  readonly url: string;
  readonly #process: TestProcess;

  /** `mostPerPage`: the longest page of a list, as an administrator can set it. */
  static async start(keystone: string, mostPerPage = 100): Promise<BarbicanServer> {
    const root = await packages();
    const port = await reservePort();
    const url = `http://127.0.0.1:${port}`;
    const home = join(tmpdir(), `b${port}`);
    await mkdir(join(home, '.barbican'), { recursive: true });
    const text = `
[DEFAULT]
sql_connection = sqlite:///${home}/barbican.db
db_auto_create = true
host_href = ${url}
max_limit_paging = ${mostPerPage}
${keystoneSettings(keystone, 'keystone_authtoken')}`;
    await writeFile(join(home, '.barbican/barbican.conf'), text);
    const server = new TestProcess([PYTHON, '-c', SERVER, `127.0.0.1:${port}`], {
      env: { ...pythonEnvironment(root), HOME: home },
      cwd: home,
    });
    await server.until(({ stdout }) => stdout.includes('listening'));
    return new BarbicanServer(url, server);
  }

  private constructor(url: string, process: TestProcess) {
    this.url = url;
    this.#process = process;
  }

  get log(): string {
    return this.#process.output;
  }

  async stop(): Promise<void> {
    await this.#process.kill('SIGKILL');
  }
}
