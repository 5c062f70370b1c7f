import { mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Pod } from '@tidegate/kube';
import type { Container, ContainerPlace, Inside } from '../contracts.ts';
import { expand } from '../env/index.ts';
import { AGENT_VARIABLE } from '../proc/index.ts';
import { machineFiles } from './machine-files.ts';
import { type Bind, type Mount, planMounts } from './mount-plan.ts';
import { removeTree } from './remove-tree.ts';
import { createEntries, Sandbox } from './sandbox.ts';

/** Options of {@link OwnCommands}. */
export interface OwnCommandsOptions {
  /** Or why this machine has none. */
  sandbox: Sandbox | { unavailable: string };
  /** Marks the processes, so that the watchdog finds them when the agent is gone. */
  agent: string;
}

/** The default path of the file in which a container leaves a message when it ends. */
const TERMINATION_MESSAGE = '/dev/termination-log';
/** Its mounts work without a sandbox: programs find the token through KUBECONFIG. */
const TOKEN_MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The command of a container with its arguments; empty when only the image knows the command. */
export const ownCommand = (
  { command = [], args = [] }: Container,
  env: Readonly<Record<string, string>>,
): string[] => (command.length === 0 ? [] : [...command, ...args].map((word) => expand(word, env)));

/** A container that cannot run its own command here. */
export class OwnCommandError extends Error {
  override readonly name = 'OwnCommandError';
}

/** Prepares what containers see when they run their own commands. */
export class OwnCommands {
  readonly #options: OwnCommandsOptions;

  constructor(options: OwnCommandsOptions) {
    this.#options = options;
  }

  /**
   * Creates the root of a new attempt. The result starts the command of the container and, while it runs, other
   * commands beside it: probes, hooks and `kubectl exec`.
   */
  async prepare(
    pod: Pod,
    container: Container,
    place: ContainerPlace,
    env: Record<string, string>,
  ): Promise<Inside> {
    const { sandbox } = this.#options;
    const directory = posix.join('/', container.workingDir ?? '');
    if (!(sandbox instanceof Sandbox)) return this.#withoutSandbox(container, place, env, directory);
    const root = join(place.directory, 'rootfs');
    await removeTree(root);
    await mkdir(root, { recursive: true, mode: 0o755 });
    const mounts = await mountsOf(pod, container, place);
    const { entries, binds } = planMounts(machineFiles, mounts, [directory]);
    await createEntries(root, entries);
    const known = new Set(['none', ...binds.map(({ source }) => source)]);
    // The mounts of the machine change while the container runs. Its root has no place for what is new.
    const currentBinds = (): Bind[] =>
      planMounts(machineFiles, mounts, [directory]).binds.filter(({ source }) => known.has(source));
    const { KUBECONFIG, ...others } = env;
    const isOurs = KUBECONFIG === join(place.directory, 'kubeconfig');
    const variables = {
      HOME: '/',
      ...others,
      ...(KUBECONFIG === undefined || isOurs ? {} : { KUBECONFIG }),
      CONTAINER_ROOT: '/',
      [AGENT_VARIABLE]: this.#options.agent,
    };
    return {
      run: (command) => ({
        command: sandbox.wrap({ root, binds: currentBinds(), directory, command }),
        env: variables,
        cwd: place.directory,
      }),
    };
  }

  /** Without namespaces, nothing can be at the paths that a container expects. */
  async #withoutSandbox(
    { name, volumeMounts = [] }: Container,
    place: ContainerPlace,
    env: Record<string, string>,
    directory: string,
  ): Promise<Inside> {
    const { sandbox, agent } = this.#options;
    const mount = volumeMounts.find(({ mountPath }) => mountPath !== TOKEN_MOUNT);
    if (mount !== undefined && !(sandbox instanceof Sandbox)) {
      throw new OwnCommandError(
        `container ${name} mounts a volume at ${mount.mountPath}, which needs user and mount namespaces, and this machine does not provide them to you: ${sandbox.unavailable}. Allow unprivileged user namespaces, or remove the mount`,
      );
    }
    const cwd = join(place.root, directory);
    await mkdir(cwd, { recursive: true, mode: 0o700 });
    const variables = { HOME: place.root, ...env, [AGENT_VARIABLE]: agent };
    return { run: (command) => ({ command, env: variables, cwd }) };
  }
}

/** The volumes of a container, which are links in `place.root`, and the file for its last message. */
async function mountsOf(pod: Pod, container: Container, place: ContainerPlace): Promise<Mount[]> {
  const { volumeMounts = [], terminationMessagePath = TERMINATION_MESSAGE } = container;
  const generated = new Set(
    (pod.spec?.volumes ?? [])
      .filter(({ configMap, secret, projected, downwardAPI }) =>
        [configMap, secret, projected, downwardAPI].some((source) => source !== undefined),
      )
      .map(({ name }) => name),
  );
  const paths = volumeMounts.map(({ mountPath }) => posix.join('/', mountPath));
  const mounts = await Promise.all(
    volumeMounts.map(async ({ name, mountPath, readOnly = false }): Promise<Mount> => {
      const source = await realpath(join(place.root, mountPath));
      const path = posix.join('/', mountPath);
      // Inside another volume, the path is a link to the volume, so the volume is bound where the link leads.
      const isNested = paths.some((other) => path.startsWith(`${other}/`));
      return {
        source,
        path: isNested ? source : path,
        isDirectory: (await stat(source)).isDirectory(),
        readOnly: readOnly || generated.has(name),
      };
    }),
  );
  const path = posix.join('/', terminationMessagePath);
  if (paths.some((other) => path.startsWith(`${other}/`))) return mounts;
  const source = join(place.root, path);
  await mkdir(dirname(source), { recursive: true, mode: 0o700 });
  await writeFile(source, '', { mode: 0o600 });
  return [...mounts, { source, path, isDirectory: false, readOnly: false }];
}

/** Why a container without a command cannot run, or undefined if a stand-in may serve in its place. */
export function unknownEntrypoint(pod: Pod, container: Container): string | undefined {
  const isMain = pod.spec?.containers.some(({ name }) => name === container.name) ?? false;
  const isServer = container.restartPolicy === 'Always' || (isMain && pod.spec?.restartPolicy === 'Always');
  // A stand-in never completes, so it would hold a Job or an init container forever.
  if (isServer) return undefined;
  return `the command of image ${JSON.stringify(container.image)} is unknown, because this machine has no container images; set the command of container ${container.name}, or map the image in images.yaml`;
}
