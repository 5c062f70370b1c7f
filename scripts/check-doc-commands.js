// Fails when the documentation, a manifest or an example names a `tidegate` command or option that does not exist. The
// README and the tutorial are run as tests; this covers every other page.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory, loadSource } from './docs/load-source.js';

const ROOT = join(import.meta.dirname, '..');
/** Options in `code` that belong to other programs. */
const OTHERS = new Set(['--server-side', '--dry-run', '--fail', '--check']);

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md', 'deploy', 'examples'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const paths = tracked.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)));

try {
  const { createProgram } = await loadSource('cli/program.ts');
  const program = await createProgram();
  const all = new Set(allCommands(program).flatMap(optionsOf));
  for (const path of paths) {
    const lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
    for (const [index, line] of lines.entries())
      for (const problem of problemsOf(line, program, all, path)) {
        console.error(`${path}:${index + 1}: ${problem}`);
        process.exitCode = 1;
      }
  }
} finally {
  await rm(cacheDirectory, { recursive: true, force: true });
}

function problemsOf(line, program, all, path) {
  const problems = [];
  for (const [, words] of line.matchAll(/(?:^|[\s`(/])tidegate ((?:[a-z]+\b|-)[^`|;#]*)/g))
    problems.push(...problemsOfCommand(words.split(/\s+/), program));
  // Pages of the changelog and of packages name options of other versions and programs.
  if (!/^(?:docs|README)/.test(path)) return problems;
  for (const [, option] of line.matchAll(/`(--[a-z][a-z-]*)[^`]*`/g))
    if (!all.has(option) && !OTHERS.has(option)) problems.push(`no command has the option ${option}`);
  return problems;
}

/** Words after `tidegate`: in prose the first may be any word, so only a line with options has to name a command. */
function problemsOfCommand(words, program) {
  const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]);
  let command = program;
  for (const word of words) {
    const found = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (found === undefined) break;
    command = found;
  }
  if (command === program && !(words[0] ?? '').startsWith('-'))
    return options.length === 0 ? [] : [`tidegate has no command ${words[0]}`];
  const known = optionsOf(command);
  return options
    .filter((option) => !known.includes(option))
    .map((option) => `tidegate ${command.name()} has no option ${option}`);
}

function allCommands(command) {
  return [command, ...command.commands.flatMap(allCommands)];
}

function optionsOf(command) {
  return [...command.options.flatMap(({ short, long }) => [short, long]), '-h', '--help'].filter(Boolean);
}
