import { chmod, lstat, stat, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { makeChosenDirectory } from '@tidegate/disk';
import { ConfigError } from '@tidegate/kube';

/**
 * Listens on a unix socket that only the user of the hub, usually root, can connect to. Its directory must be
 * private: the mode of the socket can only be set after it is created, and until then any user with access to
 * the directory could connect.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  await makePrivateDirectory(dirname(path));
  await removeStale(path);
  await new Promise<void>((resolve, reject) => {
    const onError = (error: Error): void =>
      reject(new ConfigError(`cannot listen on ${path} (--socket): ${error.message}`, { cause: error }));
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
    `other users can enter ${directory}, and a process that can open the socket in it is authenticated as this node; change its owner to the user of the hub and its mode to 700, or choose another directory with --socket`,
  );
}

/** Deletes a socket that a killed hub left behind. Throws if another hub still uses it. */
async function removeStale(path: string): Promise<void> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (!found.isSocket())
    throw new ConfigError(`${path} exists and is not a socket; choose another path with --socket`);
  if (await answers(path))
    throw new ConfigError(`another hub listens on ${path}; stop it, or choose another path with --socket`);
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
