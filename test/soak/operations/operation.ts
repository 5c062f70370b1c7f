import type { Chance } from '../../support/random.ts';
import type { World } from '../world.ts';

/** Does something and says what; undefined when it is not possible as things are. */
export type Operation = (world: World, chance: Chance) => Promise<string | undefined>;
