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
import { packageVersion } from './package-files.ts';
import { renderCommand } from './render.ts';
import { routerCommand } from './router.ts';
import { standInCommand } from './stand-in.ts';
import { statusCommand } from './status.ts';
import { traceCommand } from './trace.ts';
import { upCommand } from './up.ts';
import { versionCommand } from './version.ts';

/** All commands. Each has its own file in this folder. */
export function createProgram(): Command {
  return new Command(programName())
    .description('Run and inspect front doors for the edge sites of a Kubernetes cluster.')
    .version(packageVersion(), '--version', 'print the version and exit')
    .showHelpAfterError('Run with --help for usage.')
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
    .addCommand(versionCommand())
    .addCommand(standInCommand(), { hidden: true });
}

/** kubectl runs this program under another name for `kubectl tidegate`. The help texts show the name in use. */
const programName = (): string =>
  basename(process.argv[1] ?? '') === 'kubectl-tidegate' ? 'kubectl tidegate' : 'tidegate';
