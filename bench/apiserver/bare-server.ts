import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/**
 * The reference for requests: an HTTPS server that reads the body and answers with 2 KB. Its throughput is the limit of
 * Node and TLS. It reads its certificate from the given files and prints its port.
 */
export async function runBareServer(): Promise<void> {
  const [, , , cert = '', key = '', ca = ''] = process.argv;
  const body = Buffer.alloc(2048, 'x');
  const server = createServer(
    {
      cert: readFileSync(cert),
      key: readFileSync(key),
      ca: readFileSync(ca),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(200, { 'Content-Length': body.length }).end(body));
    },
  );
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.on('disconnect', () => process.exit(0));
}
