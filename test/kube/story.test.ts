import { describe } from 'vitest';
import { story } from '../story/story.ts';
import { RealWorld } from './story-world.ts';

describe('the story, on a real Kubernetes', () => story('real', () => RealWorld.open()));
