import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { conformance } from '../dataplane/conformance.ts';
import type { MakeDriver } from '../dataplane/support/world.ts';
import { OctaviaDriver } from './support/driver.ts';
import { OctaviaServer } from './support/octavia.ts';

let server: OctaviaServer;
let notFound: Server;

beforeAll(async () => {
  server = await OctaviaServer.start();
  notFound = createServer((_, response) => response.writeHead(404).end('not found\n'));
  await new Promise<void>((resolve) => notFound.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => notFound?.close(resolve));
  await server?.stop();
});

const make: MakeDriver = (options) =>
  new OctaviaDriver(server, options, (notFound.address() as AddressInfo).port);

conformance(make);
