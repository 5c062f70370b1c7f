import { execFile } from 'node:child_process';
import { createServer, isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import { ConfigError, type Logger } from '@tidegate/kube';
import { type ArpSettings, answerArpForOwnAddresses } from './arp.ts';

/** The name of the network interface. */
const NAME = 'tidegate0';

/** Runs `ip` with these arguments. Rejects with the text that it wrote to stderr. */
export type RunIp = (args: readonly string[]) => Promise<void>;

export interface HubInterfaceOptions {
  address: string;
  log: Logger;
  /** Replaces the command `ip`, the check for local addresses and the settings of the kernel, for tests. */
  ip?: RunIp;
  isLocal?: (address: string) => Promise<boolean>;
  arp?: ArpSettings;
}

/**
 * The address at which pods connect to the hub. If the host does not have the address yet, it is added to a
 * dummy interface of its own. `close` removes what `open` added.
 *
 * By default, it is the same link-local address on every node. Such an address is only reachable from the node
 * itself, so pods always connect to the hub of their own node. Its scope is `host`, and the node does not answer ARP
 * requests for it (arp.ts).
 */
export class HubInterface {
  /** The arguments that undo `open`; undefined if it changed nothing. */
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
    // The interface may be left by a hub that was killed. If the kernel does not support dummy interfaces,
    // the address is added to the loopback interface.
    const device = refused === undefined || /File exists/.test(refused.message) ? NAME : 'lo';
    const undo =
      refused === undefined ? ['link', 'del', NAME] : ['addr', 'del', withLength(address), 'dev', device];
    try {
      await ip(addressArguments(address, device));
      if (device === NAME) await ip(UP);
    } catch (error) {
      if (refused === undefined) await ip(undo);
      throw cannotAdd(address, refused ?? (error as Error));
    }
    if (!isIPv6(address)) await answerArpForOwnAddresses(log, options.arp);
    log.info({ address, interface: device }, 'added the address of the hub to the host');
    return new HubInterface(ip, undo);
  }

  async close(): Promise<void> {
    if (this.#undo !== undefined) await this.#ip(this.#undo);
  }
}

const LINK = ['link', 'add', NAME, 'type', 'dummy'];
const UP = ['link', 'set', NAME, 'up'];
const withLength = (address: string): string => `${address}/${isIPv6(address) ? 128 : 32}`;

/**
 * Duplicate address detection is off (`nodad`). Otherwise, the hub could not listen on an IPv6 address for a
 * second or two.
 */
const addressArguments = (address: string, device: string): string[] => [
  ...['addr', 'add', withLength(address), 'dev', device],
  ...(isIPv6(address) ? ['nodad'] : ['scope', 'host']),
];

function cannotAdd(address: string, cause: Error): ConfigError {
  const commands = [LINK, addressArguments(address, NAME), UP].map((args) => `ip ${args.join(' ')}`);
  return new ConfigError(
    `${address} is not an address of this host, and the hub cannot add it (${cause.message}); as root, run "${commands.join(' && ')}", or choose another address with --hub-address`,
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

/**
 * Tries to listen on the address. The list of interfaces is not enough: all of 127.0.0.0/8 is local, and
 * other ranges can be as well.
 */
function canListenOn(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL') resolve(false);
      else reject(new ConfigError(`cannot listen on ${address} (--hub-address): ${error.message}`));
    });
    probe.listen(0, address, () => probe.close(() => resolve(true)));
  });
}
