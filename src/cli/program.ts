import { Command } from 'commander';
import { apiserverCommand } from './apiserver.ts';
import { controllersCommand } from './controllers.ts';
import { convertCommand } from './convert.ts';
import { cutCommand } from './cut.ts';
import { diffCommand } from './diff.ts';
import { downCommand } from './down.ts';
import { hubCommand } from './hub.ts';
import { managerCommand } from './manager.ts';
import { mendCommand } from './mend.ts';
import { nodeCommand } from './node.ts';
import { renderCommand } from './render.ts';
import { routerCommand } from './router.ts';
import { standInCommand } from './stand-in.ts';
import { statusCommand } from './status.ts';
import { upCommand } from './up.ts';
import { packageVersion } from './version.ts';

/** All subcommands. Each has a file of its own beside this one. */
export function createProgram(): Command {
  return new Command('tidegate')
    .description('A front door for every edge site of one Kubernetes cluster.')
    .version(packageVersion(), '--version', 'print the version')
    .showHelpAfterError('(run with --help to see what is possible)')
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(statusCommand())
    .addCommand(cutCommand())
    .addCommand(mendCommand())
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
