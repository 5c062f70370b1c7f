import type { Chance } from '../../support/random.ts';
import type { World } from '../world.ts';

/** Performs an operation and describes it; undefined when it is not possible in the current state. */
export type Operation = (world: World, chance: Chance) => Promise<string | undefined>;
