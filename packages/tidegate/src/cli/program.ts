import { basename } from 'node:path';
import { Command } from 'commander';
import { apiserverCommand } from './apiserver.ts';
import { controllersCommand } from './controllers.ts';
import { convertCommand } from './convert.ts';
import { cutCommand } from './cut.ts';
import { describeCommand } from './describe.ts';
import { diffCommand } from './diff.ts';
import { downCommand } from './down.ts';
import { getCommand } from './get.ts';
import { hubCommand } from './hub.ts';
import { managerCommand } from './manager.ts';
import { mendCommand } from './mend.ts';
import { nodeCommand } from './node.ts';
import { renderCommand } from './render.ts';
import { routerCommand } from './router.ts';
import { standInCommand } from './stand-in.ts';
import { statusCommand } from './status.ts';
import { traceCommand } from './trace.ts';
import { upCommand } from './up.ts';
import { packageVersion } from './version.ts';

/** All subcommands. Each has a file of its own beside this one. */
export function createProgram(): Command {
  return new Command(programName())
    .description('A front door for every edge site of one Kubernetes cluster.')
    .version(packageVersion(), '--version', 'print the version')
    .showHelpAfterError('(run with --help to see what is possible)')
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(statusCommand())
    .addCommand(cutCommand())
    .addCommand(mendCommand())
    .addCommand(getCommand())
    .addCommand(describeCommand())
    .addCommand(traceCommand())
    .addCommand(renderCommand())
    .addCommand(diffCommand())
    .addCommand(convertCommand())
    .addCommand(apiserverCommand())
    .addCommand(controllersCommand())
    .addCommand(managerCommand())
    .addCommand(hubCommand())
    .addCommand(routerCommand())
    .addCommand(nodeCommand())
    .addCommand(standInCommand(), { hidden: true });
}

/** kubectl runs a program of this name for `kubectl tidegate`, and its help should say so. */
const programName = (): string =>
  basename(process.argv[1] ?? '') === 'kubectl-tidegate' ? 'kubectl tidegate' : 'tidegate';
