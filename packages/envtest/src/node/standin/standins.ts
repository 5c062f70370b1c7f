import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Informer, type Logger, type Node, type Pod, Serial, type Service } from '@tidegate/kube';
import type { Container, ContainerPlace, Images, StandIns } from '../contracts.ts';
import type { StandInConfig } from './config.ts';
import { selects, standInPorts } from './ports.ts';

const POOL_LABELS = ['apps.openyurt.io/nodepool', 'apps.kubeedge.io/belonging-to'];

/** The node, and the Services that decide which ports stand-ins open. */
export interface StandInProcessesOptions {
  nodeName: string;
  /** Includes at least this node. */
  nodes: Informer<Node>;
  services: Informer<Service>;
  images: Images;
  log: Logger;
}

interface StandIn {
  pod: Pod;
  container: Container;
  address: string;
  file: string;
  /** The content of the file, or of the write in progress. */
  text: string;
  writes: Serial;
}

/** Writes the configuration of each stand-in on this node, and again when a Service or the pool of the node changes. */
export class StandInProcesses implements StandIns {
  readonly #options: StandInProcessesOptions;
  /** By pod uid. */
  readonly #standIns = new Map<string, StandIn[]>();
  readonly #detach: (() => void)[];

  constructor(options: StandInProcessesOptions) {
    this.#options = options;
    options.services.addIndex('namespace', byNamespace);
    const follow = (service: Service): void =>
      this.#refresh(({ pod }) => pod.metadata.namespace === service.metadata.namespace);
    this.#detach = [
      options.services.addHandler({
        onAdd: follow,
        onUpdate: (_old, service) => follow(service),
        onDelete: follow,
      }),
      options.nodes.addHandler({
        onUpdate: (old, node) => {
          if (node.metadata.name === options.nodeName && poolOf(old) !== poolOf(node))
            this.#refresh(() => true);
        },
      }),
    ];
  }

  async command(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<string[]> {
    await mkdir(place.directory, { recursive: true, mode: 0o700 });
    const file = join(place.directory, 'stand-in.json');
    const standIn = { pod, container, address: podIP, file, text: '', writes: new Serial() };
    const uid = pod.metadata.uid ?? '';
    const others = (this.#standIns.get(uid) ?? []).filter((other) => other.file !== file);
    this.#standIns.set(uid, [...others, standIn]);
    await this.#write(standIn);
    // A small young generation: a stand-in has almost no live data.
    return [process.execPath, '--max-semi-space-size=1', standInProgram(), '--config', file];
  }

  async release(uid: string): Promise<void> {
    const standIns = this.#standIns.get(uid) ?? [];
    this.#standIns.delete(uid);
    await Promise.all(standIns.map(({ writes }) => writes.idle()));
  }

  async close(): Promise<void> {
    for (const detach of this.#detach) detach();
    await Promise.all([...this.#standIns.keys()].map((uid) => this.release(uid)));
  }

  #refresh(concerned: (standIn: StandIn) => boolean): void {
    for (const standIn of [...this.#standIns.values()].flat()) {
      if (!concerned(standIn)) continue;
      this.#write(standIn).catch((err: unknown) =>
        this.#options.log.error({ err, file: standIn.file }, 'cannot change the ports of a stand-in'),
      );
    }
  }

  /** Serialized atomic writes; skips a write that changes nothing. */
  #write(standIn: StandIn): Promise<void> {
    const text = `${JSON.stringify(this.#configOf(standIn), null, 2)}\n`;
    if (text === standIn.text) return standIn.writes.idle();
    standIn.text = text;
    return standIn.writes.run(async () => {
      await writeFile(`${standIn.file}.tmp`, text, { mode: 0o600 });
      await rename(`${standIn.file}.tmp`, standIn.file);
    });
  }

  /** The ports come from the container and from the Services that select the pod at this moment. */
  #configOf({ pod, container, address }: StandIn): StandInConfig {
    const { nodeName, nodes, services, images } = this.#options;
    const { name: podName = '', namespace = '', ownerReferences = [] } = pod.metadata;
    const isInit = !(pod.spec?.containers ?? []).some(({ name }) => name === container.name);
    const selecting = services.cache
      .byIndex('namespace', namespace)
      .filter((service) => selects(service, pod));
    const first = pod.spec?.containers.find(({ image = '' }) => images.resolve(image).kind === 'stand-in');
    return {
      pod: podName,
      namespace,
      node: nodeName,
      pool: poolOf(nodes.cache.get(nodeName)),
      image: container.image ?? '',
      address,
      ports: standInPorts(pod, container, selecting, first?.name === container.name),
      completes:
        ownerReferences.some(({ kind, controller }) => kind === 'Job' && controller === true) ||
        (isInit && container.restartPolicy !== 'Always'),
    };
  }
}

const byNamespace = ({ metadata }: Service): string[] => [metadata.namespace ?? ''];

function poolOf(node: Node | undefined): string | null {
  const label = POOL_LABELS.find((name) => node?.metadata.labels?.[name] !== undefined);
  return label === undefined ? null : node!.metadata.labels![label]!;
}

/** The bundle of `main.ts`, whether this code runs from `dist/` or from `src/`. */
function standInProgram(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const program = new URL('dist/node/stand-in.js', folder);
    if (existsSync(program)) return fileURLToPath(program);
    if (folder.pathname === '/') {
      throw new Error('dist/node/stand-in.js is missing: run `npm run build` in the tidegate directory');
    }
  }
}
