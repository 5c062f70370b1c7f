// Lets a process outside of a network namespace connect to addresses in it. Listens on a Unix socket, which namespaces do not
// separate. A client sends "ADDRESS PORT\n", gets "ok\n" or the code of the error, and then talks to the address.
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const [socket] = process.argv.slice(2);
rmSync(socket, { force: true });

createServer((client) => {
  client.on('error', () => client.destroy());
  client.once('data', (line) => {
    client.pause();
    const [host, port] = line.toString().trim().split(' ');
    const server = connect(Number(port), host);
    let isOpen = false;
    server.once('connect', () => {
      isOpen = true;
      client.write('ok\n');
      client.pipe(server).pipe(client);
    });
    server.on('error', ({ code }) => {
      // A Unix socket cannot be reset. The HTTP client of Node.js reports ECONNRESET in both cases.
      if (isOpen) client.destroy();
      else client.end(`${code}\n`);
    });
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroySoon());
  });
}).listen(socket, () => console.log('listening'));
