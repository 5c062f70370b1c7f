import { chmod, lstat, stat, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { makeChosenDirectory } from '@tidegate/disk';
import { ConfigError } from '@tidegate/kube';

/**
 * Has `server` listen on a unix socket that nobody but us can connect to. The directory matters more than the socket:
 * between the moment a socket is there and the moment its mode is set, others could come in.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  await makePrivateDirectory(dirname(path));
  await removeStale(path);
  await new Promise<void>((resolve, reject) => {
    const onError = (error: Error): void =>
      reject(new ConfigError(`can not listen on ${path} (--socket): ${error.message}`, { cause: error }));
    server.once('error', onError);
    server.listen(path, () => {
      server.off('error', onError);
      resolve();
    });
  });
  await chmod(path, 0o600);
}

async function makePrivateDirectory(directory: string): Promise<void> {
  makeChosenDirectory(directory, '--socket');
  const { mode, uid } = await stat(directory);
  if ((mode & 0o077) === 0 && uid === process.getuid?.()) return;
  throw new ConfigError(
    `others can enter ${directory}: whoever reaches the socket in it speaks as this node; make it ours alone (chmod 700), or choose another directory with --socket`,
  );
}

/** Left behind by a hub that was killed. One that somebody answers on is not. */
async function removeStale(path: string): Promise<void> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (!found.isSocket())
    throw new ConfigError(`${path} is there and is not a socket; choose another with --socket`);
  if (await answers(path))
    throw new ConfigError(`another hub answers on ${path}; stop it, or choose another with --socket`);
  await unlink(path);
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
