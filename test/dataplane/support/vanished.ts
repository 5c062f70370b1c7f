import { connect } from 'node:net';
import { TestProcess } from '../../support/process.ts';

/** Listens, but never accepts: the process is blocked. */
const BLOCKED = `
const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, 'port ' + server.address().port + '\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

/** More connections than the kernel queues for the process. It drops further ones without an answer. */
const QUEUED = 4;

/** An endpoint that does not answer at all, like the address of a pod that has vanished with its node. */
export async function vanishedEndpoint(): Promise<{ port: number; close(): Promise<void> }> {
  const blocked = new TestProcess([process.execPath, '-e', BLOCKED]);
  await blocked.until(({ stdout }) => /port \d+\n/.test(stdout));
  const port = Number(/port (\d+)/.exec(blocked.stdout)?.[1]);
  const queued = Array.from({ length: QUEUED }, () => connect(port, '127.0.0.1').on('error', () => {}));
  return {
    port,
    async close() {
      for (const socket of queued) socket.destroy();
      await blocked.kill('SIGKILL');
    },
  };
}
