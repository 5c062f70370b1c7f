import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, writeFileAtomically } from '@tidegate/disk';
import { sleep } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import type { Driver } from '../dataplane/driver.ts';
import type { SectionedDriver } from '../dataplane/sections.ts';
import { Agent, type SharedParts } from './agent.ts';
import type { AgentSettings } from './options.ts';
import { Snapshot } from './snapshot.ts';

const RESTART_MS = 5_000;

/** What identifies a section: a router that was deleted and created again is another one. */
export interface SectionName {
  readonly number: number;
  readonly router: string;
  readonly uid: string;
  /** Of `spec.ingressClassName`, for metrics and the access log. It is not a part of the identity. */
  readonly className?: string;
}

/** Undefined while the manager has not given the router a section. */
export function sectionNameOf({ metadata, spec }: L7Router): SectionName | undefined {
  const number = spec.workload?.section;
  if (number === undefined) return undefined;
  return { number, router: `${metadata.name}`, uid: `${metadata.uid}`, className: classOf(spec) };
}

/** Only a valid name is a label: the data planes separate names with tabs. */
const classOf = ({ ingressClassName: name }: L7Router['spec']): string =>
  /^[a-z0-9.-]+$/.test(name) ? name : '';

/** The directory of a section has all of its name, so that a router that starts without API server knows its sections. */
export const directoryOf = ({ number, router, uid }: SectionName): string => `${number}_${router}_${uid}`;

export function nameOfDirectory(directory: string): SectionName | undefined {
  const [, number, router, uid] = /^(\d+)_([^_]+)_([a-z0-9-]+)$/.exec(directory) ?? [];
  return number === undefined || router === undefined || uid === undefined
    ? undefined
    : { number: Number(number), router, uid };
}

const LEFT = 'left';

/** Whether the router of the section in this directory had left the pods. */
export const hasLeft = (directory: string): boolean => existsSync(join(directory, LEFT));

export interface SectionOptions {
  readonly name: SectionName;
  readonly driver: SectionedDriver;
  /** The directory of all sections. */
  readonly directory: string;
  readonly shared: SharedParts;
  readonly settings: AgentSettings;
}

/** One router in shared pods, from the start of its agent to its end. */
export class Section {
  readonly #options: SectionOptions;
  readonly #driver: Driver;
  readonly #snapshot: Snapshot;
  readonly #stop = new AbortController();
  #agent: Agent;
  #hasLeft = false;
  #stopped: Promise<void> | undefined;
  #running: Promise<void> | undefined;

  private constructor(options: SectionOptions, snapshot: Snapshot) {
    const { driver, name } = options;
    this.#options = options;
    this.#snapshot = snapshot;
    const { number, uid: identity, router, className = '' } = name;
    this.#driver = driver.section({ number, identity, router, className });
    this.#agent = this.#newAgent();
  }

  /** Resolves when the data plane has the table of the last run, if there is one. */
  static async listen(given: SectionOptions): Promise<Section> {
    const options = { ...given, name: withClass(given.name, given.directory) };
    const { settings, name } = options;
    const snapshot = await Snapshot.open({
      directory: join(options.directory, directoryOf(name)),
      owner: { classNames: [], router: name.router, pool: settings.pool },
      clock: settings.clock,
      log: settings.log,
    });
    const section = new Section(options, snapshot);
    await section.#agent.listen();
    return section;
  }

  get name(): SectionName {
    return this.#options.name;
  }

  reasons(): string[] {
    return this.#agent.reasons().map((reason) => `${this.name.router}: ${reason}`);
  }

  warnings(): string[] {
    return this.#snapshot.warnings();
  }

  /** Keeps the section up to date until it is stopped. The informers must run. */
  follow(): void {
    this.#running ??= this.#follow();
  }

  /**
   * Notes on disk that the router has left the pods, or has returned. The section is served for a while after that, but not
   * after a restart: without the API server, it would be served for ever.
   */
  noteLeft(hasLeft: boolean): void {
    if (hasLeft === this.#hasLeft) return;
    this.#hasLeft = hasLeft;
    const file = join(this.#options.directory, directoryOf(this.name), LEFT);
    try {
      if (hasLeft) writeFileAtomically(file, '', 0o600);
      else rmSync(file, { force: true });
    } catch (error) {
      const { log } = this.#options.settings;
      log.warn(
        { err: error, router: this.name.router },
        'cannot note whether a router has left the shared pods',
      );
    }
  }

  /** Stops the agent. The data plane serves the section on. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#snapshot.close();
  }

  /** The router does not exist any more: removes what is left of it. It can be called again after a failure. */
  async remove(): Promise<void> {
    await this.stop();
    await this.#driver.close();
    this.#options.settings.metrics.forget({ router: this.name.router });
    rmSync(join(this.#options.directory, directoryOf(this.name)), { recursive: true, force: true });
  }

  #newAgent(): Agent {
    const { settings, shared, name } = this.#options;
    const { router } = name;
    return new Agent({
      ...settings,
      classNames: [],
      router,
      driver: this.#driver,
      snapshot: this.#snapshot,
      shared,
      log: settings.log.child({ router }),
      signal: this.#stop.signal,
    });
  }

  /** A failure in one section must not end the others: its agent starts again, and its routes are served meanwhile. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, log } = this.#options.settings;
    while (!signal.aborted) {
      try {
        await this.#agent.run(signal);
      } catch (error) {
        log.error(
          { err: error, router: this.name.router },
          'the agent of a router failed; starting it again',
        );
        await sleep(clock, RESTART_MS, signal).catch(() => {}); // Rejects only when aborted; then the loop ends.
        this.#agent = this.#newAgent();
      }
    }
  }
}

/** The name with the class as the API server has it, or as it was in the last run. */
function withClass(name: SectionName, directory: string): SectionName {
  const own = join(directory, directoryOf(name));
  const file = join(own, 'class');
  makeDirectory(own);
  if (name.className === undefined) return { ...name, className: readIfExists(file) };
  writeFileAtomically(file, name.className, 0o600);
  return name;
}

/** Only labels depend on it, so the file can be missing. */
function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
