import { overrideWords } from './words.ts';

export const overrideArgs = overrideWords('args');
