import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quotePath } from '@tidegate/disk';
import { Command } from 'commander';
import { DEFAULT_NAMESPACE, readChart } from '../install/index.ts';
import { ask } from './ask.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { packageFile, packageVersion } from './package-files.ts';
import { fail, stopSignal } from './process.ts';

interface Options extends ClusterFlags {
  namespace: string;
  directory?: string;
}

export function sysdumpCommand(): Command {
  return new Command('sysdump')
    .description(
      'Collect what a bug report needs, without secrets: objects, logs and the result of tidegate check',
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('-n, --namespace <name>', 'namespace of the installation', DEFAULT_NAMESPACE)
    .option('--directory <dir>', 'directory to write to (default: tidegate-sysdump-TIME)')
    .addHelpText(
      'after',
      `
Secrets are not read. Of other objects, only fields that cannot contain credentials are written, and only logs of
Tidegate's pods. Texts lose what looks like a credential. Look at the files before you send them: names of hosts, images
and namespaces are in them.

Example:
  tidegate sysdump && tar czf sysdump.tar.gz tidegate-sysdump-*`,
    )
    .action(run);
}

const MOST_NAMES = 4;

async function run(options: Options): Promise<void> {
  const signal = stopSignal();
  try {
    const { collect } = await import('../sysdump/index.ts');
    const time = new Date().toISOString().replace(/[:.]/g, '-');
    const directory = options.directory ?? `tidegate-sysdump-${time}`;
    const files: string[] = [];
    const write = (name: string, text: string): void => {
      const file = join(directory, name);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, text, { mode: 0o600 });
      files.push(name);
    };
    await withClient(options, (client) =>
      collect(
        {
          client,
          namespace: options.namespace,
          chart: readChart(packageFile('deploy/chart')),
          now: Date.now,
          ask,
          signal,
        },
        packageVersion(),
        write,
      ),
    );
    console.log(`${files.length} files in ${quotePath(directory)}`);
    const unread = files.filter((name) => name.endsWith('.error'));
    if (unread.length > 0)
      console.error(
        `${unread.length} of them say why something could not be read: ${unread.slice(0, MOST_NAMES).join(', ')}${unread.length > MOST_NAMES ? ', ...' : ''}`,
      );
    // Without an answer of the API server, the files contain nothing that helps.
    if (unread.includes('version.json.error')) process.exitCode = 1;
  } catch (error) {
    fail(error);
  }
}
