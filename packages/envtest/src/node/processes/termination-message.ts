/** The message that a container leaves when it ends: in a file, or the end of its log if it asks for that. */
import { readFile, rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Container, ContainerLogs, ContainerPlace } from '../contracts.ts';
import type { Exit } from '../pods/record.ts';

/** The default path of the file. */
export const TERMINATION_MESSAGE = '/dev/termination-log';
const MAX_MESSAGE_BYTES = 4096;
/** The limits of the kubelet for a message from the log. */
const FROM_LOG = { tailLines: 80, limitBytes: 2048 };

export async function terminationMessage(
  place: ContainerPlace,
  container: Container | undefined,
  exit: Exit,
  logs: ContainerLogs,
): Promise<string | undefined> {
  const message = await read(fileOf(place, container));
  const isFailure = exit.code !== 0;
  if (message !== undefined || !isFailure || container?.terminationMessagePolicy !== 'FallbackToLogsOnError')
    return message;
  const pieces: Buffer[] = [];
  for await (const piece of logs.read(place, 'current', FROM_LOG, new AbortController().signal))
    pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Before each start: the message of an earlier run must not be taken for that of this one. */
export async function clearTerminationMessage(place: ContainerPlace, container: Container): Promise<void> {
  await rm(fileOf(place, container), { force: true });
}

const fileOf = ({ root }: ContainerPlace, container: Container | undefined): string =>
  join(root, posix.join('/', container?.terminationMessagePath ?? TERMINATION_MESSAGE));

async function read(file: string): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8');
    return text === '' ? undefined : text.slice(0, MAX_MESSAGE_BYTES);
  } catch {
    return undefined; // Most containers write none.
  }
}
