import { basename } from 'node:path';
import { Command } from 'commander';
import { packageVersion } from './package-files.ts';

/**
 * All commands, in the order of the help text. Each has its own file in this folder. A cluster of `tidegate up` starts
 * this program fifteen times, so a process loads only the file of the command that it runs.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import('./up.ts')).upCommand(),
  down: async () => (await import('./down.ts')).downCommand(),
  status: async () => (await import('./status.ts')).statusCommand(),
  cut: async () => (await import('./cut.ts')).cutCommand(),
  mend: async () => (await import('./mend.ts')).mendCommand(),
  kill: async () => (await import('./kill.ts')).killCommand(),
  reboot: async () => (await import('./reboot.ts')).rebootCommand(),
  console: async () => (await import('./console.ts')).consoleCommand(),
  logs: async () => (await import('./logs.ts')).logsCommand(),
  install: async () => (await import('./install.ts')).installCommand(),
  upgrade: async () => (await import('./install.ts')).upgradeCommand(),
  uninstall: async () => (await import('./uninstall.ts')).uninstallCommand(),
  check: async () => (await import('./check.ts')).checkCommand(),
  sysdump: async () => (await import('./sysdump.ts')).sysdumpCommand(),
  get: async () => (await import('./get.ts')).getCommand(),
  describe: async () => (await import('./describe.ts')).describeCommand(),
  trace: async () => (await import('./trace.ts')).traceCommand(),
  render: async () => (await import('./render.ts')).renderCommand(),
  diff: async () => (await import('./diff.ts')).diffCommand(),
  rollout: async () => (await import('./rollout.ts')).rolloutCommand(),
  convert: async () => (await import('./convert.ts')).convertCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  apiserver: async () => (await import('./apiserver.ts')).apiserverCommand(),
  controllers: async () => (await import('./controllers.ts')).controllersCommand(),
  manager: async () => (await import('./manager.ts')).managerCommand(),
  hub: async () => (await import('./hub.ts')).hubCommand(),
  router: async () => (await import('./router.ts')).routerCommand(),
  node: async () => (await import('./node.ts')).nodeCommand(),
  version: async () => (await import('./version.ts')).versionCommand(),
  'stand-in': async () => (await import('./stand-in.ts')).standInCommand(),
};

/** Not for users: the node agent starts it. */
const HIDDEN = 'stand-in';

/** The program with the command of this name, or with all commands if there is no such command. */
export async function createProgram(name = ''): Promise<Command> {
  const program = new Command(programName())
    .description('Run and inspect front doors for the edge sites of a Kubernetes cluster.')
    .version(packageVersion(), '--version', 'print the version and exit')
    .showHelpAfterError('Run with --help for usage.')
    // The options of `tidegate hub install` are not those of `tidegate hub`.
    .enablePositionalOptions();
  const names = Object.hasOwn(COMMANDS, name) ? [name] : Object.keys(COMMANDS);
  for (const command of await Promise.all(names.map((each) => COMMANDS[each]!())))
    program.addCommand(command, { hidden: command.name() === HIDDEN });
  return program;
}

/** kubectl runs this program under another name for `kubectl tidegate`. The help texts show the name in use. */
const programName = (): string =>
  basename(process.argv[1] ?? '') === 'kubectl-tidegate' ? 'kubectl tidegate' : 'tidegate';
