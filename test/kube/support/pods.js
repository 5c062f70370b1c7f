// Stands in for pods: an HTTP server at each of the addresses, which answers with the address it was asked at.
import { createServer } from 'node:http';

const [port, ...addresses] = process.argv.slice(2);
for (const address of addresses) {
  createServer((_, response) => response.end(`${address}\n`)).listen(Number(port), address);
}
