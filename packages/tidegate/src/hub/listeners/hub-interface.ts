import { execFile } from 'node:child_process';
import { createServer, isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import { ConfigError, type Logger } from '@tidegate/kube';

const NAME = 'tidegate0';

/** Runs `ip` with these arguments; rejects with what it wrote to stderr. */
export type RunIp = (args: readonly string[]) => Promise<void>;

export interface HubInterfaceOptions {
  address: string;
  log: Logger;
  /** How addresses are given to the host; tests put their own here. */
  ip?: RunIp;
  isLocal?: (address: string) => Promise<boolean>;
}

/**
 * The address that pods reach the hub by, on an interface of its own when the host does not have it yet. Taken away
 * again by `close`, if it was made here.
 */
export class HubInterface {
  readonly #undo: readonly string[] | undefined;
  readonly #ip: RunIp;

  private constructor(ip: RunIp, undo?: readonly string[]) {
    this.#ip = ip;
    this.#undo = undo;
  }

  static async open(options: HubInterfaceOptions): Promise<HubInterface> {
    const { address, log, ip = runIp, isLocal = canListenOn } = options;
    if (await isLocal(address)) return new HubInterface(ip);
    const refused = await ip(LINK).then(
      () => undefined,
      (error: Error) => error,
    );
    // Left by a hub that was killed; or the kernel can not make such links, and the loopback interface serves as well.
    const device = refused === undefined || /File exists/.test(refused.message) ? NAME : 'lo';
    const undo =
      refused === undefined ? ['link', 'del', NAME] : ['addr', 'del', withLength(address), 'dev', device];
    try {
      await ip(addressArguments(address, device));
      if (device === NAME) await ip(UP);
    } catch (error) {
      if (refused === undefined) await ip(undo);
      throw notPossible(address, refused ?? (error as Error));
    }
    log.info({ address, interface: device }, 'gave the host the address of the hub');
    return new HubInterface(ip, undo);
  }

  async close(): Promise<void> {
    if (this.#undo !== undefined) await this.#ip(this.#undo);
  }
}

const LINK = ['link', 'add', NAME, 'type', 'dummy'];
const UP = ['link', 'set', NAME, 'up'];
const withLength = (address: string): string => `${address}/${isIPv6(address) ? 128 : 32}`;

/** Without `nodad` an IPv6 address can not be listened on for a second or two. */
const addressArguments = (address: string, device: string): string[] => [
  ...['addr', 'add', withLength(address), 'dev', device],
  ...(isIPv6(address) ? ['nodad'] : []),
];

function notPossible(address: string, cause: Error): ConfigError {
  const commands = [LINK, addressArguments(address, NAME), UP].map((args) => `ip ${args.join(' ')}`);
  return new ConfigError(
    `${address} is not an address of this host and could not be made one (${cause.message}); as root, run "${commands.join(' && ')}", or choose another with --hub-address`,
    { cause },
  );
}

const run = promisify(execFile);

const runIp: RunIp = async (args) => {
  try {
    await run('ip', [...args]);
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new Error(stderr.trim() === '' ? message : `ip: ${stderr.trim()}`, { cause: error });
  }
};

/** The list of interfaces does not tell: all of 127.0.0.0/8 is local, and so may be other ranges. */
function canListenOn(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL') resolve(false);
      else reject(new ConfigError(`can not listen on ${address} (--hub-address): ${error.message}`));
    });
    probe.listen(0, address, () => probe.close(() => resolve(true)));
  });
}
