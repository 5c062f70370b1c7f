import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const SHOWN_OF_COMMAND = 200;

/** Runs a program until it exits. Rejects with everything that it printed. */
export async function run(program: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const command = [program, ...args].join(' ').slice(0, SHOWN_OF_COMMAND);
    throw new Error(`${command}: ${stdout}${stderr || String(error)}`);
  }
}

/** A network namespace: its own interfaces, firewall and ports. */
export class Namespace {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  static async create(name: string): Promise<Namespace> {
    if (process.getuid?.() !== 0) throw new Error('these tests create network namespaces; run them as root');
    const namespace = new Namespace(name);
    await run('ip', 'netns', 'add', name);
    await namespace.ip('link', 'set', 'lo', 'up');
    return namespace;
  }

  static async all(): Promise<Namespace[]> {
    const lines = (await run('ip', 'netns', 'list')).split('\n').filter(Boolean);
    return lines.map((line) => new Namespace(line.split(' ')[0]!));
  }

  /** Prefix for a command that runs in this namespace. The process becomes that of the command. */
  get wrapper(): string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  run(program: string, ...args: string[]): Promise<string> {
    return run('ip', 'netns', 'exec', this.name, program, ...args);
  }

  async ip(...args: string[]): Promise<void> {
    await run('ip', '-n', this.name, ...args);
  }

  async addAddress(address: string): Promise<void> {
    await this.ip('address', 'add', `${address}/32`, 'dev', 'lo');
  }

  /** Kills all processes in the namespace, and deletes it with its interfaces. */
  async remove(): Promise<void> {
    try {
      const pids = await run('ip', 'netns', 'pids', this.name);
      for (const pid of pids.split('\n').filter(Boolean)) end(Number(pid));
      await run('ip', 'netns', 'delete', this.name);
    } catch (error) {
      // Another run that cleans up may have removed it already.
      if (!/No such file/.test(String(error))) throw error;
    }
  }
}

/**
 * Connects two namespaces. The link is the default route, because iptables only processes packets that have a
 * route.
 */
export async function connect(a: Namespace, addressA: string, b: Namespace, addressB: string): Promise<void> {
  await a.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', b.name);
  for (const [namespace, address] of [
    [a, addressA],
    [b, addressB],
  ] as const) {
    await namespace.ip('address', 'add', `${address}/24`, 'dev', 'eth0');
    await namespace.ip('link', 'set', 'eth0', 'up');
    await namespace.ip('route', 'add', 'default', 'dev', 'eth0');
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
