/** What breaks: lines, hubs, the API server, and the programs of the nodes. */

import type { Chance } from '../support/random.ts';
import type { ProgramClient } from './clients.ts';
import type { World } from './world.ts';

export interface Shaken {
  world: World;
  programs: readonly ProgramClient[];
}

/** Returns what was done, in a few words. */
export type Fault = (shaken: Shaken, chance: Chance) => Promise<string>;

export const FAULTS: Record<string, Fault> = {
  line: async ({ world }, chance) => {
    const { name, link } = chance.of(world.nodes);
    if (link.state === 'open') {
      const state = chance.of(['cut', 'cut', 'silent', 'slow'] as const);
      await link.set(state);
      return `the line of ${name} is ${state}`;
    }
    const forgetting = link.state === 'silent' && chance.percent(50);
    await link.set('open', forgetting);
    return `the line of ${name} is mended${forgetting ? ', but not for old connections' : ''}`;
  },
  hub: async ({ world }, chance) => {
    const node = chance.of(world.nodes);
    if (!node.running) {
      await node.startHub();
      return `the hub of ${node.name} is back`;
    }
    const how = chance.percent(25) ? 'stopped' : 'killed';
    await node.killHub(how === 'killed' ? 'SIGKILL' : 'SIGTERM');
    if (chance.percent(40)) return `the hub of ${node.name} is ${how}`;
    await node.startHub();
    return `the hub of ${node.name} is ${how} and back`;
  },
  server: async ({ world }, chance) => {
    if (!world.serverRunning) {
      await world.startServer();
      return 'the API server is back';
    }
    await world.killServer();
    if (chance.percent(40)) return 'the API server is killed';
    await world.startServer();
    return 'the API server is killed and back';
  },
  program: async ({ programs }, chance) => {
    const program = chance.of(programs);
    await program.restart();
    return `${program.program} of ${program.node.name} is restarted`;
  },
};

export async function mendAll({ world }: Shaken): Promise<void> {
  await world.startServer();
  for (const node of world.nodes) {
    await node.startHub();
    await node.link.set('open');
  }
}
