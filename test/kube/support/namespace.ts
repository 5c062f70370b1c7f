import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../support/process.ts';

/** The watchdog of the test run deletes the namespaces that are listed here (test/guard). */
const listed = (name: string): string => join(tmpdir(), 'network-namespaces', name);

/** A network namespace: its own interfaces, firewall and ports. */
export class Namespace {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  /** The name has the process id, because tests may run several times on a machine. */
  static async create(role: string): Promise<Namespace> {
    if (process.getuid?.() !== 0) throw new Error('these tests create network namespaces; run them as root');
    const name = `tidegate-${process.pid}-${role}`;
    const namespace = new Namespace(name);
    await mkdir(join(listed(name), '..'), { recursive: true });
    await writeFile(listed(name), '');
    await run(['ip', 'netns', 'add', name]);
    await namespace.ip('link', 'set', 'lo', 'up');
    return namespace;
  }

  /** Prefix for a command that runs in this namespace. The process becomes that of the command. */
  get wrapper(): string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  run(program: string, ...args: string[]): Promise<string> {
    return run([...this.wrapper, program, ...args]);
  }

  async ip(...args: string[]): Promise<void> {
    await run(['ip', '-n', this.name, ...args]);
  }

  async addAddress(address: string): Promise<void> {
    await this.ip('address', 'add', `${address}/32`, 'dev', 'lo');
  }

  /** Kills all processes in the namespace, and deletes it with its interfaces. */
  async remove(): Promise<void> {
    const pids = await run(['ip', 'netns', 'pids', this.name]);
    for (const pid of pids.split('\n').filter(Boolean)) end(Number(pid));
    await run(['ip', 'netns', 'delete', this.name]);
    await rm(listed(this.name));
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
