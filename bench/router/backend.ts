import { join } from 'node:path';
import { freePort } from '../../packages/tidegate/src/supervisor/links.ts';
import { type Contender, program, startServer } from '../programs.ts';
import { nginxArguments } from './nginx-files.ts';

/** The backend of all routers: an nginx that listens on two addresses and is faster than any router. */
export async function startBackend(directory: string): Promise<Contender & { endpoints: string[] }> {
  const port = await freePort(0);
  const endpoints = ['127.0.0.2', '127.0.0.3'].map((address) => `${address}:${port}`);
  const listen = endpoints.map((endpoint) => `listen ${endpoint};`).join(' ');
  const http = `  server { ${listen} location / { return 200 "hello\\n"; } }`;
  const args = await nginxArguments(join(directory, 'backend'), 1, http);
  const server = await startServer(
    'backend',
    program('nginx', 'nginx-light'),
    args,
    `http://${endpoints[0]}/`,
  );
  return { ...server, endpoints };
}
