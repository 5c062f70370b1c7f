import { describe } from 'vitest';
import { story } from './story.ts';

describe('the story, with the embedded data plane', () => story('embedded'));
