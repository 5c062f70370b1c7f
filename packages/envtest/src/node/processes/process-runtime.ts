import { mkdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Clock, Logger, Pod } from '@tidegate/kube';
import {
  OwnCommandError,
  type OwnCommands,
  ownCommand,
  programProblem,
  unknownEntrypoint,
} from '../commands/index.ts';
import {
  type Container,
  type ContainerLogs,
  type ContainerPlace,
  EnvError,
  type Environment,
  EXIT_PORT_NOT_ALLOWED,
  type ImageRule,
  type Images,
  type Inside,
  type PodPlace,
  type Runnable,
  type StandIns,
  type Volumes,
} from '../contracts.ts';
import { expand } from '../env/index.ts';
import { allContainers } from '../pods/lifecycle.ts';
import type { Exit, PodRecord } from '../pods/record.ts';
import {
  type Attempt,
  type Known,
  type Launched,
  type Process,
  type Runtime,
  SetUpError,
  StartError,
} from '../pods/runtime.ts';
import { CONTAINER_VARIABLE, processesBelow, signalOne } from '../proc/index.ts';
import type { Addresses } from './addresses.ts';
import { fillIn, firstTcpPort, placeholdersOf, portAdvice } from './command.ts';
import { afterPowerFailure, forgetPowerFailure, hasPowerFailed, killContainers } from './power.ts';
import type { Records } from './records.ts';
import { follow, launch } from './spawn.ts';
import { clearTerminationMessage, terminationMessage } from './termination-message.ts';

export interface ProcessRuntimeOptions {
  stateDirectory: string;
  nodeIP: string;
  /** Undefined until the node has one. */
  podCIDR(): string | undefined;
  addresses: Addresses;
  records: Records;
  images: Images;
  standIns: StandIns;
  volumes: Volumes;
  environment: Environment;
  logs: ContainerLogs;
  /** Undefined: containers do not run their own commands. */
  ownCommands?: OwnCommands | undefined;
  clock: Clock;
  log: Logger;
  /** Closes what the parts above share. */
  onClose(): Promise<void>;
}

/** What to start for a container. */
interface Program {
  command: string[];
  env: Record<string, string>;
  cwd: string;
  /** Set when it is the container's own command. */
  inside?: Inside;
}

/** The runtime that runs containers as processes; see `index.ts` for identity and adoption. */
export class ProcessRuntime implements Runtime {
  readonly probes = true;
  readonly #options: ProcessRuntimeOptions;
  readonly #followed = new Set<() => void>();
  /** By container directory, while it runs its own command. */
  readonly #inside = new Map<string, Inside>();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
  }

  async setUp(pod: Pod): Promise<{ podIP: string }> {
    const { volumes } = this.#options;
    const uid = pod.metadata.uid!;
    const podIP = await this.#address(pod, uid);
    const place = this.place(uid);
    await mkdir(place.directory, { recursive: true, mode: 0o700 });
    await volumes.mount(pod, place, podIP);
    await this.#configureStandIns(pod, place, podIP);
    return { podIP };
  }

  async start(pod: Pod, container: Container, attempt: Attempt): Promise<Launched> {
    const { images, logs, log } = this.#options;
    const { image = '' } = container;
    const rule = images.resolve(image);
    if (rule.kind === 'absent') throw new StartError('ErrImagePull', rule.message);
    const place = this.place(pod.metadata.uid!).container(container.name);
    await clearTerminationMessage(place, container);
    const { command, env, cwd, inside } = await this.#programOf(pod, container, place, attempt, rule);
    const output = await logs.outputFor(place, attempt.restartCount);
    try {
      const process = await launch({ command, env, cwd, output: output.fd });
      log.info({ pod: pod.metadata.name, container: container.name, pid: process.handle.pid }, 'started');
      if (inside !== undefined) this.#inside.set(place.directory, inside);
      const exited = this.#ended(process, container, place, rule);
      return {
        process: {
          ...process,
          exited: inside === undefined ? exited : this.#allEnded(exited, place, attempt),
        },
        imageID: inside === undefined ? imageIDOf(rule, command) : 'tidegate://command',
        note: inside === undefined ? noteOf(image, rule, command) : ownNote(image),
        ...(inside === undefined ? listening(container, rule) : { inside }),
      };
    } catch (error) {
      throw new StartError('RunContainerError', spawnProblem(command, error as NodeJS.ErrnoException), {
        cause: error,
      });
    } finally {
      await output.close();
    }
  }

  inside(uid: string, container: string): Inside | undefined {
    return this.#inside.get(this.place(uid).container(container).directory);
  }

  async adopt({ container, record, place, handle }: Known): Promise<Process | undefined> {
    const { clock, images, logs } = this.#options;
    const process = follow(handle, clock);
    if (process === undefined) return undefined;
    this.#followed.add(process.leave);
    await logs.resume(place, record.restartCount);
    const rule = images.resolve(record.image);
    const exited = this.#ended(process, container, place, rule);
    void exited.finally(() => this.#followed.delete(process.leave));
    return { ...process, exited };
  }

  async release(uid: string): Promise<void> {
    const { standIns, volumes, addresses } = this.#options;
    await standIns.release(uid);
    await volumes.unmount(uid);
    await addresses.release(uid);
  }

  async remove(uid: string): Promise<void> {
    await this.release(uid);
    await this.#options.records.remove(uid);
  }

  place(uid: string): PodPlace {
    return this.#options.records.place(uid);
  }

  /**
   * Also kills processes that an earlier agent started but did not record before it was killed: they would hold
   * their ports forever.
   */
  async load(): Promise<PodRecord[]> {
    const { records, log } = this.#options;
    const known = await this.#loadRecords();
    const noted = new Set(
      known.flatMap(({ uid, containers }) =>
        Object.entries(containers)
          .filter(([, { state }]) => state.type === 'running')
          .map(([name, { containerID }]) => `${this.place(uid).container(name).directory}:${containerID}`),
      ),
    );
    for (const { pid, container, agent } of processesBelow(records.directory)) {
      if (noted.has(container) && agent === undefined) continue;
      log.warn(
        { pid, container },
        agent === undefined
          ? 'killing a container process that is in no record; an earlier agent was killed before it recorded the start'
          : 'killing a command of a container whose agent has ended',
      );
      signalOne(pid, 'SIGKILL');
    }
    return known;
  }

  async #loadRecords(): Promise<PodRecord[]> {
    const { stateDirectory, records, addresses, clock, log } = this.#options;
    const known = await records.load();
    if (!hasPowerFailed(stateDirectory)) return known;
    log.info(
      { pods: known.length },
      'the power of the node has failed; starting the pods with new addresses',
    );
    killContainers(stateDirectory);
    await addresses.releaseAll();
    const after = known.map((record) => afterPowerFailure(record, clock.now()));
    for (const record of after) await records.save(record);
    forgetPowerFailure(stateDirectory);
    return after;
  }

  async save(record: PodRecord): Promise<void> {
    await this.#options.records.save(record);
  }

  async close(): Promise<void> {
    const { standIns, volumes, logs, onClose } = this.#options;
    for (const leave of this.#followed) leave();
    await standIns.close();
    await volumes.close();
    await logs.close();
    await onClose();
  }

  async #address(pod: Pod, uid: string): Promise<string> {
    const { addresses, podCIDR, nodeIP } = this.#options;
    if (pod.spec?.hostNetwork === true) return nodeIP;
    const cidr = podCIDR();
    if (cidr === undefined) {
      throw new SetUpError('NetworkNotReady', 'network is not ready: the node has no podCIDR yet');
    }
    const address = await addresses.allocate(uid, cidr);
    if (address !== undefined) return address;
    throw new SetUpError(
      'FailedCreatePodSandBox',
      `Failed to create pod sandbox: no address is left in ${cidr}`,
    );
  }

  /** Stand-ins that are already running, possibly since before this agent, follow the Services that select the pod. */
  async #configureStandIns(pod: Pod, place: PodPlace, podIP: string): Promise<void> {
    const { images, standIns } = this.#options;
    for (const container of allContainers(pod.spec!)) {
      if (images.resolve(container.image ?? '').kind !== 'stand-in') continue;
      await standIns.command(pod, container, place.container(container.name), podIP);
    }
  }

  async #programOf(
    pod: Pod,
    container: Container,
    place: ContainerPlace,
    attempt: Attempt,
    rule: Runnable,
  ): Promise<Program> {
    const { standIns, nodeIP } = this.#options;
    const { podIP } = attempt;
    const env = {
      ...(await this.#environmentOf(pod, container, place, podIP)),
      [CONTAINER_VARIABLE]: markOf(place, attempt),
    };
    const own = await this.#ownProgramOf(pod, container, place, env, rule);
    if (own !== undefined) return own;
    const cwd = join(place.root, posix.join('/', container.workingDir ?? ''));
    await mkdir(cwd, { recursive: true, mode: 0o700 });
    if (rule.kind === 'stand-in') {
      return { command: await standIns.command(pod, container, place, podIP), env, cwd };
    }
    const placeholders = placeholdersOf(pod, container, place, { podIP, nodeIP });
    const given = Object.entries(rule.env).map(([name, value]) => [name, fillIn(value, placeholders)]);
    const command = rule.command.map((part) => fillIn(part, placeholders));
    const args = (container.args ?? []).map((arg) => expand(arg, env));
    return { command: [...command, ...args], env: { ...env, ...Object.fromEntries(given) }, cwd };
  }

  /** Undefined when the container does not run its own command: the image has a rule, or commands are not run. */
  async #ownProgramOf(
    pod: Pod,
    container: Container,
    place: ContainerPlace,
    env: Record<string, string>,
    rule: Runnable,
  ): Promise<Program | undefined> {
    const { ownCommands } = this.#options;
    if (ownCommands === undefined || !isUnmapped(rule)) return undefined;
    const words = ownCommand(container, env);
    const unknown = words.length === 0 ? unknownEntrypoint(pod, container) : undefined;
    if (unknown !== undefined) throw new StartError('CreateContainerError', unknown);
    if (words.length === 0) return undefined;
    try {
      const inside = await ownCommands.prepare(pod, container, place, env);
      const problem = await programProblem(inside, words[0] ?? '', env);
      if (problem !== undefined) throw new StartError('StartError', problem);
      return { ...inside.run(words), inside };
    } catch (error) {
      if (!(error instanceof OwnCommandError)) throw error;
      throw new StartError('CreateContainerError', error.message, { cause: error });
    }
  }

  async #environmentOf(
    pod: Pod,
    container: Container,
    place: ContainerPlace,
    podIP: string,
  ): Promise<Record<string, string>> {
    try {
      return await this.#options.environment.of(pod, container, place, podIP);
    } catch (error) {
      if (!(error instanceof EnvError)) throw error;
      throw new StartError('CreateContainerConfigError', error.message, { cause: error });
    }
  }

  async #ended(
    process: Process,
    container: Container | undefined,
    place: ContainerPlace,
    rule: ImageRule,
  ): Promise<Exit> {
    const exit = await process.exited;
    await this.#options.logs.ended(place);
    const message = await terminationMessage(place, container, exit, this.#options.logs);
    const forbidden =
      rule.kind === 'stand-in' && exit.code === EXIT_PORT_NOT_ALLOWED && container !== undefined;
    return {
      ...exit,
      ...(message === undefined ? {} : { message }),
      ...(forbidden ? { advice: portAdvice(container) } : {}),
    };
  }

  /** A container ends with its first process, also when others have left its process group. */
  async #allEnded(exited: Promise<Exit>, place: ContainerPlace, attempt: Attempt): Promise<Exit> {
    const exit = await exited;
    const mark = markOf(place, attempt);
    this.#inside.delete(place.directory);
    for (const { pid, container } of processesBelow(this.#options.records.directory)) {
      if (container === mark) signalOne(pid, 'SIGKILL');
    }
    return exit;
  }
}

/** Every process of a container has it in its environment. */
const markOf = ({ directory }: ContainerPlace, { containerID }: Attempt): string =>
  `${directory}:${containerID}`;

/** Whether nothing is known about the image, so that the container's own command may run. */
const isUnmapped = (rule: Runnable): boolean => rule.kind === 'stand-in' && rule.isMapped !== true;

const imageIDOf = (rule: Runnable, [program]: string[]): string =>
  rule.kind === 'stand-in' ? 'tidegate://stand-in' : `tidegate://${program}`;

const ownNote = (image: string): string =>
  `Container image ${JSON.stringify(image)} is not available on this machine: running the command of the container as a process`;

/** A stand-in counts as started when it listens, because nothing is known about how the real program starts. */
function listening(container: Container, rule: Runnable): { listensOn?: number } {
  const listensOn = rule.kind === 'stand-in' ? firstTcpPort(container) : undefined;
  return listensOn === undefined ? {} : { listensOn };
}

const noteOf = (image: string, rule: Runnable, command: string[]): string =>
  rule.kind === 'stand-in'
    ? `Container image ${JSON.stringify(image)} is not available on this machine: running a stand-in`
    : `Container image ${JSON.stringify(image)} is mapped to the command ${JSON.stringify(command.join(' '))}`;

function spawnProblem([program = '']: string[], { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') {
    return `the program ${JSON.stringify(program)} does not exist on this machine; install it, or change the entry of the image in images.yaml`;
  }
  if (code === 'EACCES') return `the program ${JSON.stringify(program)} is not executable`;
  return message;
}
