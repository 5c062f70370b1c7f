import { fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@tidegate/kube';
import type { DriverOptions } from '../../packages/tidegate/src/dataplane/driver.ts';
import { EmbeddedDriver } from '../../packages/tidegate/src/dataplane/embedded/index.ts';
import { NginxDriver } from '../../packages/tidegate/src/dataplane/nginx/index.ts';
import { freePort } from '../../packages/tidegate/src/supervisor/links.ts';
import { stop } from '../apiserver/servers.ts';
import { type Contender, program, startServer } from '../programs.ts';
import { nginxArguments } from './nginx-files.ts';
import { deltaOf, hostName, hosts, PATHS, type Routes, serviceOf, services } from './routes.ts';

const workers = Math.min(availableParallelism(), 8);

const driverOptions = (directory: string): DriverOptions => ({
  address: '127.0.0.1',
  httpPort: 0,
  httpsPort: 0,
  directory,
  className: 'bench',
  defaults: { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, maxBodyBytes: 0 },
});

/** The nginx data plane of Tidegate, with routes as data. */
export async function startLuaRouter(directory: string, routes: Routes): Promise<Contender> {
  const driver = new NginxDriver(driverOptions(join(directory, 'lua')), { log: silentLogger });
  const { http } = await driver.start();
  await driver.apply(deltaOf(routes));
  const { master } = await driver.processes();
  return {
    name: 'nginx with Lua',
    url: `http://127.0.0.1:${http}`,
    pid: master,
    stop: () => driver.close(),
  };
}

export const EMBEDDED_PROCESS = 'embedded-router';

/** The embedded data plane of Tidegate, in its own process like the agent. */
export async function startEmbeddedRouter(directory: string, routes: Routes): Promise<Contender> {
  const main = new URL(import.meta.url).pathname.replace(/[^/]*$/, 'main.js');
  const child = fork(main, [EMBEDDED_PROCESS, join(directory, 'embedded'), JSON.stringify(routes)]);
  const port = await new Promise<number>((resolve) => child.once('message', (it) => resolve(Number(it))));
  return {
    name: 'embedded',
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    stop: () => stop(child),
  };
}

/** The main function of that process. */
export async function runEmbeddedRouter([directory = '', routes = '']: string[]): Promise<void> {
  const driver = new EmbeddedDriver(driverOptions(directory), { log: silentLogger });
  const { http } = await driver.start();
  await driver.apply(deltaOf(JSON.parse(routes) as Routes));
  process.once('SIGTERM', () => process.exit());
  process.send?.(http);
}

/** nginx with a handwritten configuration: a server per host, a location per path, and kept connections. */
export async function startStaticNginx(directory: string, routes: Routes): Promise<Contender> {
  const port = await freePort(0);
  const servers = routes.endpoints.map((endpoint) => `server ${endpoint};`).join(' ');
  const location = (host: number, path: string, at: number): string =>
    `location ${path} { proxy_pass http://service-${serviceOf(host, at)}; }`;
  const server = (host: number): string =>
    `server { listen 127.0.0.1:${port}; server_name ${hostName(host)}; ${PATHS.map((path, at) => location(host, path, at)).join(' ')} }`;
  const http = `  server_names_hash_max_size 262144;
  server_names_hash_bucket_size 128;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  proxy_set_header X-Request-Id $request_id;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Host $http_host;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header X-Forwarded-Port $server_port;
  proxy_set_header X-Real-IP $remote_addr;
  ${services()
    .map((index) => `upstream service-${index} { ${servers} keepalive 64; keepalive_requests 1000000; }`)
    .join('\n  ')}
  ${hosts(routes).map(server).join('\n  ')}`;
  const args = await nginxArguments(join(directory, 'static'), workers, http);
  return startServer('static nginx.conf', program('nginx', 'nginx-light'), args, `http://127.0.0.1:${port}`);
}

/** haproxy with a map from host and path to the backend. */
export async function startHaproxy(directory: string, routes: Routes): Promise<Contender> {
  const port = await freePort(0);
  const map = join(directory, `haproxy-${routes.hosts}.map`);
  const configuration = join(directory, `haproxy-${routes.hosts}.cfg`);
  const entries = hosts(routes).flatMap((host) =>
    PATHS.map((path, at) => `${hostName(host)}${path} service-${serviceOf(host, at)}`),
  );
  await writeFile(map, `${entries.join('\n')}\n`);
  const backends = services().map(
    (index) => `backend service-${index}
  ${routes.endpoints.map((endpoint, at) => `server s${at} ${endpoint}`).join('\n  ')}`,
  );
  await writeFile(
    configuration,
    `global
  nbthread ${workers}
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
  option forwardfor
frontend all
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  use_backend %[base,map_beg(${map})]
${backends.join('\n')}
`,
  );
  return startServer(
    'haproxy',
    program('haproxy', 'haproxy'),
    ['-f', configuration],
    `http://127.0.0.1:${port}`,
  );
}
