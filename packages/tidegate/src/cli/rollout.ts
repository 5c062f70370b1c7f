import { type KubeClient, type KubeObject, textTable } from '@tidegate/kube';
import { Command } from 'commander';
import type { Rollout } from '../api/index.ts';
import { EDGE_APPLICATIONS } from '../api/index.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { CommandError, fail, stopSignal } from './process.ts';
import { findApplication, type RolloutObject, revisionsIn, undo } from './rollout-objects.ts';
import { follow } from './rollout-status.ts';

interface Options extends ClusterFlags {
  namespace?: string;
}

const APPLICATION =
  'name of an EdgeApplication, or yurtappset/NAME or yurtappdaemon/NAME for applications of OpenYurt';

export function rolloutCommand(): Command {
  return new Command('rollout')
    .description('Follow and control how a change of an application reaches its sites')
    .addCommand(
      subcommand('status', 'Show the rollout, and wait until it is complete')
        .option('--no-watch', 'print the state once and exit')
        .addHelpText(
          'after',
          '\nExit status: 0 if the rollout is complete, 1 if it has stopped or is not complete with --no-watch.',
        )
        .action(
          act<{ watch: boolean }>(async (client, found, { watch }) => {
            if (!(await follow(client, found.application, watch, stopSignal()))) process.exitCode = 1;
          }),
        ),
    )
    .addCommand(
      subcommand('history', 'List the revisions of an application').action(
        act(async (client, found) => {
          const rows = (await revisionsIn(client, found)).map(({ metadata, revision }) => [
            String(revision),
            `${metadata.name}`,
            `${metadata.creationTimestamp}`,
          ]);
          if (rows.length === 0) throw new CommandError(`${found.text} has no revisions`);
          process.stdout.write(`${textTable([['REVISION', 'NAME', 'CREATED'], ...rows])}\n`);
        }),
      ),
    )
    .addCommand(
      subcommand('undo', 'Go back to an earlier revision')
        .option('--to-revision <number>', 'revision of the history (default: the one before the current)')
        .action(
          act<{ toRevision?: string }>(async (client, found, { toRevision }) => {
            console.log(`${found.text} has the content of revision ${await undo(client, found, toRevision)}`);
          }),
        ),
    )
    .addCommand(
      subcommand('pause', 'Start no further wave').action(
        change((rollout) => ({ ...rollout, paused: true }), 'is paused'),
      ),
    )
    .addCommand(
      subcommand('resume', 'Continue a rollout that is paused').action(change(resumed, 'continues')),
    )
    .addCommand(
      subcommand('hold', 'Keep a site as it is')
        .argument('<site>', 'name of the NodePool or NodeGroup')
        .action(
          change(
            (rollout, _, site) => ({ ...rollout, hold: [...new Set([...(rollout.hold ?? []), site])] }),
            'holds the site',
          ),
        ),
    )
    .addCommand(
      subcommand('release', 'Let a held site have the current revision')
        .argument('<site>', 'name of the NodePool or NodeGroup')
        .action(
          change(
            (rollout, _, site) => ({ ...rollout, hold: (rollout.hold ?? []).filter((one) => one !== site) }),
            'has released the site',
          ),
        ),
    );
}

const subcommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .argument('<application>', APPLICATION)
    .option('-n, --namespace <name>', 'namespace of the application (default: that of the context)')
    .addOption(kubeconfigOption())
    .addOption(contextOption());

/** The next wave starts although the current one pauses. */
function resumed(rollout: Rollout, { application }: RolloutObject): Rollout {
  const { paused: _, ...rest } = rollout;
  const at = application.status?.rollout?.wave;
  const waves = rollout.waves?.map((wave, index) => {
    const { pause: _pause, ...going } = wave;
    return index === at ? going : wave;
  });
  return { ...rest, ...(waves && { waves }) };
}

/** A user sees the message of an error, and exit status 1. */
function act<More>(
  use: (client: KubeClient, found: RolloutObject, options: Options & More, site: string) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const named = args.filter((arg): arg is string => typeof arg === 'string');
    const options = args.find((arg) => typeof arg === 'object' && !(arg instanceof Command));
    const flags = options as Options & More;
    try {
      await withClient(flags, async (client, config) => {
        const namespace = flags.namespace ?? config.namespace ?? 'default';
        await use(client, await findApplication(client, namespace, named[0] ?? ''), flags, named[1] ?? '');
      });
    } catch (error) {
      fail(error);
    }
  };
}

/** Writes the field `spec.rollout` of the EdgeApplication. */
const change = (
  changed: (rollout: Rollout, found: RolloutObject, site: string) => Rollout,
  done: string,
): ((...args: unknown[]) => Promise<void>) =>
  act(async (client, found, _, site) => {
    const { metadata, spec } = found.application;
    const rollout = changed(spec.rollout ?? {}, found, site);
    const patch = [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: '/spec/rollout', value: rollout },
    ];
    const target = { name: `${metadata.name}`, namespace: `${metadata.namespace}` };
    await client.patch<KubeObject>(EDGE_APPLICATIONS as never, target, 'json', patch, {
      fieldManager: 'tidegate-rollout',
    });
    console.log(`${found.text} ${done}${site === '' ? '' : ` ${site}`}`);
  });
