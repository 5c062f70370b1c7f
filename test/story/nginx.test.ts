import { describe } from 'vitest';
import { story } from './story.ts';

describe('the story, with the nginx data plane', () => story('nginx'));
