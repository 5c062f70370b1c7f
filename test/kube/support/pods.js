// Replaces pods: an HTTP server at each of the addresses, which returns the address of the request.
import { createServer } from 'node:http';

const [port, ...addresses] = process.argv.slice(2);
for (const address of addresses) {
  createServer((_, response) => response.end(`${address}\n`)).listen(Number(port), address);
}
