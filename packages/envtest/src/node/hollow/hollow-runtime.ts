import type { Pod } from '@tidegate/kube';
import type { Container, PodPlace } from '../contracts.ts';
import type { Exit, PodRecord } from '../pods/record.ts';
import { type Launched, type Process, type Runtime, SetUpError } from '../pods/runtime.ts';
import { addressAt, nextFree, parseCIDR } from '../processes/addresses.ts';

/** Simulated containers: they run immediately, listen nowhere, and end on any signal. */
export class HollowRuntime implements Runtime {
  readonly probes = false;
  readonly #podCIDR: string;
  readonly #numbers: Record<string, number> = {};
  #last = 0;

  /** `podCIDR` is the range of simulated addresses. */
  constructor(podCIDR: string) {
    this.#podCIDR = podCIDR;
  }

  async setUp(pod: Pod): Promise<{ podIP: string }> {
    const range = parseCIDR(this.#podCIDR);
    const uid = pod.metadata.uid!;
    const number = this.#numbers[uid] ?? nextFree({ last: this.#last, pods: this.#numbers }, range.size);
    if (number === undefined) {
      throw new SetUpError('FailedCreatePodSandBox', `no address is left in ${this.#podCIDR}`);
    }
    this.#last = this.#numbers[uid] = number;
    return { podIP: addressAt(range, number) };
  }

  /** A container that is expected to complete has completed successfully right away. */
  async start(pod: Pod, container: Container): Promise<Launched> {
    const { spec } = pod;
    const isMain = spec?.containers.some(({ name }) => name === container.name) ?? false;
    const stays = isMain ? spec?.restartPolicy === 'Always' : container.restartPolicy === 'Always';
    return {
      process: stays ? endless() : { ...endless(), exited: Promise.resolve({ code: 0 }) },
      imageID: 'tidegate://hollow',
      note: `Container image ${JSON.stringify(container.image)} is not run: the node is hollow`,
    };
  }

  async adopt(): Promise<undefined> {}

  async release(uid: string): Promise<void> {
    delete this.#numbers[uid];
  }

  async remove(uid: string): Promise<void> {
    await this.release(uid);
  }

  inside(): undefined {}

  place(): PodPlace {
    throw new Error('a hollow node keeps no files');
  }

  async load(): Promise<PodRecord[]> {
    return [];
  }

  async save(): Promise<void> {}

  async close(): Promise<void> {}
}

/** A process that runs until it is signalled, without existing. */
function endless(): Process {
  let end: (exit: Exit) => void = () => {};
  const exited = new Promise<Exit>((resolve) => {
    end = resolve;
  });
  return { handle: { pid: 0, startTicks: '' }, exited, signal: () => end({ code: 0 }) };
}
