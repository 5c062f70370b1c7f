import { describe } from 'vitest';
import { EmbeddedWorld } from './embedded-world.ts';
import { story } from './story.ts';

describe('the story, with the embedded data plane', () =>
  story('embedded', () => EmbeddedWorld.open('embedded')));
