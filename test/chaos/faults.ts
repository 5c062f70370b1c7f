/** Faults of links, hubs, the API server, and the programs of the nodes. */

import type { Chance } from '../support/random.ts';
import type { ProgramClient } from './clients.ts';
import type { World } from './world.ts';

export interface ChaosTarget {
  world: World;
  programs: readonly ProgramClient[];
}

/** Returns a short description of what was done. */
export type Fault = (target: ChaosTarget, chance: Chance) => Promise<string>;

export const FAULTS: Record<string, Fault> = {
  line: async ({ world }, chance) => {
    const { name, link } = chance.of(world.nodes);
    if (link.state === 'open') {
      const state = chance.of(['cut', 'cut', 'silent', 'slow'] as const);
      await link.set(state);
      return `link of ${name}: ${state}`;
    }
    const forgetting = link.state === 'silent' && chance.percent(50);
    await link.set('open', forgetting);
    return `link of ${name}: open${forgetting ? ', but old connections stay silent' : ''}`;
  },
  hub: async ({ world }, chance) => {
    const node = chance.of(world.nodes);
    if (!node.running) {
      await node.startHub();
      return `hub of ${node.name}: started`;
    }
    const how = chance.percent(25) ? 'stopped' : 'killed';
    await node.killHub(how === 'killed' ? 'SIGKILL' : 'SIGTERM');
    if (chance.percent(40)) return `hub of ${node.name}: ${how}`;
    await node.startHub();
    return `hub of ${node.name}: ${how} and started`;
  },
  server: async ({ world }, chance) => {
    if (!world.serverRunning) {
      await world.startServer();
      return 'API server: started';
    }
    await world.killServer();
    if (chance.percent(40)) return 'API server: killed';
    await world.startServer();
    return 'API server: killed and started';
  },
  program: async ({ programs }, chance) => {
    const program = chance.of(programs);
    await program.restart();
    return `${program.program} on ${program.node.name}: restarted`;
  },
};

/** Starts everything that is stopped, and opens all links. */
export async function repairAll({ world }: ChaosTarget): Promise<void> {
  await world.startServer();
  for (const node of world.nodes) {
    await node.startHub();
    await node.link.set('open');
  }
}
