import { KUBERNETES_VERSION } from '@tidegate/envtest/version';
import { Command } from 'commander';
import { outputOption } from './options.ts';
import { packageVersion } from './package-files.ts';

export function versionCommand(): Command {
  return new Command('version')
    .description('Print the version of tidegate, of its embedded Kubernetes API, and of Node.js')
    .addOption(outputOption())
    .addHelpText('after', '\nExamples:\n  tidegate version\n  tidegate version -o json')
    .action(run);
}

function run({ output }: { output?: 'json' }): void {
  const { major, minor, patch } = KUBERNETES_VERSION;
  const versions = {
    tidegate: packageVersion(),
    kubernetes: `v${major}.${minor}.${patch}`,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
  if (output === 'json') console.log(JSON.stringify(versions, undefined, 2));
  else
    console.log(
      [
        `tidegate        ${versions.tidegate}`,
        `Kubernetes API  ${versions.kubernetes}`,
        `Node.js         ${versions.node}`,
        `Platform        ${versions.platform}`,
      ].join('\n'),
    );
}
