import { join } from 'node:path';
import type { Clock, Informer, KubeClient, Logger, Node, Service } from '@tidegate/kube';
import { agentIdentity, OwnCommands, Sandbox, startWatchdog } from '../commands/index.ts';
import type { ContainerLogs } from '../contracts.ts';
import { PodEnvironment } from '../env/index.ts';
import { ImageTable } from '../images/index.ts';
import { References } from '../references/index.ts';
import { StandInProcesses } from '../standin/index.ts';
import { PodVolumes } from '../volumes/index.ts';
import { Addresses } from './addresses.ts';
import { ProcessRuntime } from './process-runtime.ts';
import { Records } from './records.ts';

/** Everything that a runtime with real processes needs. */
export interface OpenOptions {
  client: KubeClient;
  nodeName: string;
  nodeIP: string;
  /** Includes at least this node. */
  nodes: Informer<Node>;
  services: Informer<Service>;
  logs: ContainerLogs;
  stateDirectory: string;
  imagesFile?: string | undefined;
  /** The command that runs this program. */
  program: string[];
  /** The PATH of the pods' programs. */
  path: string;
  /** Run the commands of containers as processes. */
  runCommands?: boolean | undefined;
  clock: Clock;
  log: Logger;
}

/** Creates all parts that a pod's processes need, and the runtime that uses them. */
export async function openProcessRuntime(options: OpenOptions): Promise<ProcessRuntime> {
  const { client, nodeName, nodeIP, nodes, services, logs, stateDirectory, clock, log } = options;
  const node = (): Node | undefined => nodes.cache.get(nodeName);
  const allocatable = (): Record<string, string> => node()?.status?.allocatable ?? {};
  const references = new References({ client, log });
  const images = new ImageTable({
    ...(options.imagesFile === undefined ? {} : { file: options.imagesFile }),
    program: options.program,
    log,
  });
  const environment = new PodEnvironment({
    references,
    nodeName,
    nodeIP,
    apiService: () => services.cache.get('default/kubernetes'),
    servicesIn: (namespace) => services.cache.byIndex('namespace', namespace),
    allocatable,
    path: options.path,
  });
  const commands = options.runCommands === true ? await openOwnCommands(options) : undefined;
  return new ProcessRuntime({
    stateDirectory,
    nodeIP,
    podCIDR: () => node()?.spec?.podCIDR,
    addresses: await Addresses.open(join(stateDirectory, 'addresses.json')),
    records: new Records(stateDirectory, log),
    images,
    standIns: new StandInProcesses({ nodeName, nodes, services, images, log }),
    volumes: new PodVolumes({
      client,
      references,
      nodeIP,
      allocatable,
      log,
      clock,
      claimsDirectory: join(stateDirectory, 'claims'),
    }),
    environment,
    logs,
    ownCommands: commands?.ownCommands,
    clock,
    log,
    onClose: async () => {
      await commands?.close();
      images.close();
      await references.close();
    },
  });
}

async function openOwnCommands({ path, log }: OpenOptions): Promise<{
  ownCommands: OwnCommands;
  close(): Promise<void>;
}> {
  const sandbox = await Sandbox.open(path);
  if (!(sandbox instanceof Sandbox)) {
    log.warn(
      { reason: sandbox.unavailable },
      'this machine does not allow user namespaces: containers that mount volumes cannot run their commands',
    );
  }
  const agent = agentIdentity();
  return { ownCommands: new OwnCommands({ sandbox, agent }), close: startWatchdog(agent) };
}
