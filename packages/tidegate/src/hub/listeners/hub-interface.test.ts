import { silentLogger } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { HubInterface } from './hub-interface.ts';

/** A kernel whose settings are not changed. */
const arp = { interfaces: async () => [], get: async () => '1', set: async () => {} };

describe('the interface of the hub', () => {
  /** A host without the address. A command that contains a key of `failing` fails with its value. */
  function host(failing: Record<string, string> = {}) {
    const commands: string[] = [];
    const ip = async (args: readonly string[]): Promise<void> => {
      const command = args.join(' ');
      commands.push(command);
      const failed = Object.entries(failing).find(([part]) => command.includes(part));
      if (failed !== undefined) throw new Error(failed[1]);
    };
    const open = (address: string): Promise<HubInterface> =>
      HubInterface.open({ address, log: silentLogger, ip, isLocal: async () => false, arp });
    return { commands, open };
  }

  it('is created if the host does not have the address, and removed again', async () => {
    const { commands, open } = host();
    const made = await open('169.254.2.1');
    expect(commands.splice(0)).toEqual([
      'link add tidegate0 type dummy',
      'addr add 169.254.2.1/32 dev tidegate0 scope host',
      'link set tidegate0 up',
    ]);
    await made.close();
    expect(commands).toEqual(['link del tidegate0']);
  });

  it('has an IPv6 address that is usable immediately', async () => {
    const { commands, open } = host();
    await open('fd00::1');
    expect(commands[1]).toBe('addr add fd00::1/128 dev tidegate0 nodad');
  });

  it('is reused if a killed hub left it, and is not deleted then', async () => {
    const { commands, open } = host({ 'link add': 'RTNETLINK answers: File exists' });
    await (await open('169.254.2.1')).close();
    expect(commands.slice(1)).toEqual([
      'addr add 169.254.2.1/32 dev tidegate0 scope host',
      'link set tidegate0 up',
      'addr del 169.254.2.1/32 dev tidegate0',
    ]);
  });

  it('is the loopback interface if the kernel has no dummy interfaces', async () => {
    const { commands, open } = host({ 'link add': 'Error: Unknown device type.' });
    await (await open('169.254.2.1')).close();
    expect(commands.slice(1)).toEqual([
      'addr add 169.254.2.1/32 dev lo scope host',
      'addr del 169.254.2.1/32 dev lo',
    ]);
  });

  it('reports which commands to run if it is not permitted to create it', async () => {
    const { open } = host({ add: 'RTNETLINK answers: Operation not permitted' });
    await expect(open('169.254.2.1')).rejects.toThrow(
      '169.254.2.1 is not an address of this host, and the hub cannot add it (RTNETLINK answers: Operation not permitted); as root, run "ip link add tidegate0 type dummy && ip addr add 169.254.2.1/32 dev tidegate0 scope host && ip link set tidegate0 up", or choose another address with --hub-address',
    );
  });

  it('is removed if it cannot be completed', async () => {
    const { commands, open } = host({ 'addr add': 'no' });
    await expect(open('169.254.2.1')).rejects.toThrow('(no)');
    expect(commands.at(-1)).toBe('link del tidegate0');
  });

  it('is not created if the address is local', async () => {
    const commands: string[] = [];
    const ip = async (args: readonly string[]): Promise<void> => void commands.push(args.join(' '));
    for (const address of ['127.0.0.1', '127.64.0.9'])
      await (await HubInterface.open({ address, log: silentLogger, ip })).close();
    expect(commands).toEqual([]);
  });
});
