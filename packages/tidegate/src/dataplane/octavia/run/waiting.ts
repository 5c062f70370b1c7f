import { type Clock, sleep } from '@tidegate/kube';
import { isKind, type Octavia, type OctaviaKind, OpenStackError } from '../openstack/index.ts';

export interface WaitingOptions {
  readonly clock: Clock;
  /** Pauses between two looks at a status: the first, and the longest. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** A load balancer that changes for longer than this is reported. The next attempt waits again. */
  readonly patienceMs: number;
}

export const DEFAULT_WAITING: Omit<WaitingOptions, 'clock'> = {
  firstMs: 100,
  mostMs: 2_000,
  patienceMs: 300_000,
};

/** Octavia has not done what a call asked for. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';
}

/** Waits for the result of calls. Octavia answers a call before its work starts. */
export class Waiting {
  readonly #octavia: Octavia;
  readonly #options: WaitingOptions;

  constructor(octavia: Octavia, options: WaitingOptions) {
    this.#octavia = octavia;
    this.#options = options;
  }

  /** Makes a call. As long as the load balancer is changing, waits and makes it again. */
  async whileBusy<T>(loadBalancer: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const until = this.#options.clock.monotonic() + this.#options.patienceMs;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isKind(error, 'busy')) throw error;
        const status = await this.#poll('loadbalancers', loadBalancer, signal);
        if (status === 'ERROR')
          throw new ProvisioningError(`load balancer ${loadBalancer} is in the status ERROR`, {
            cause: error,
          });
        if (this.#options.clock.monotonic() > until) throw error;
      }
    }
  }

  /** Resolves when the object is in use. Throws ProvisioningError if Octavia could not do it. */
  async untilActive(kind: OctaviaKind, id: string, signal: AbortSignal): Promise<void> {
    if ((await this.#poll(kind, id, signal)) === 'ERROR')
      throw new ProvisioningError(`Octavia reports the status ERROR for ${kind}/${id}`);
  }

  async untilGone(kind: OctaviaKind, id: string, signal: AbortSignal): Promise<void> {
    try {
      if ((await this.#poll(kind, id, signal)) === 'ERROR')
        throw new ProvisioningError(`Octavia could not delete ${kind}/${id}: its status is ERROR`);
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
  }

  /** Between two looks at something that is not a status. */
  pause(signal: AbortSignal): Promise<void> {
    return sleep(this.#options.clock, this.#options.mostMs, signal);
  }

  #poll(kind: OctaviaKind, id: string, signal: AbortSignal): Promise<string> {
    const what = `${kind}/${id}`;
    const look = async (): Promise<string> => {
      const found = (await this.#octavia.list(kind, { id }, signal)).find((each) => each.id === id);
      if (found !== undefined) return found.provisioning_status;
      throw new OpenStackError(`load-balancer: ${what} does not exist`, { status: 404 });
    };
    return this.#until(look, what, signal);
  }

  /** Looks until the status is not PENDING_... Nothing is done at once, so it waits before the first look. */
  async #until(look: () => Promise<string>, what: string, signal: AbortSignal): Promise<string> {
    const { clock, firstMs, mostMs, patienceMs } = this.#options;
    const until = clock.monotonic() + patienceMs;
    for (let pause = firstMs; ; pause = Math.min(pause * 1.5, mostMs)) {
      await sleep(clock, pause, signal);
      const status = await look();
      if (!status.startsWith('PENDING') && status !== 'DELETED') return status;
      if (clock.monotonic() > until)
        throw new OpenStackError(
          `${what} has been in the status ${status} for ${patienceMs / 1000} seconds`,
          {
            status: 0,
            kind: 'unavailable',
          },
        );
    }
  }
}
