import { overrideWords } from './words.ts';

export const overrideCommand = overrideWords('command');
