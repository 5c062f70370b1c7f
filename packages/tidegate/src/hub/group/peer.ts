import type { NodeReports, PodReport } from '../site/index.ts';
import { type Frame, FrameError } from './frames.ts';

export interface PeerOptions {
  /** How many beats of silence count as the loss of the node. */
  graceBeats: number;
  /** Whether this node can ask the cloud about the other one. If it can, the cloud decides whether the other one is lost. */
  isCut(): boolean;
}

/** The most frames in one beat. A hub collects its changes, and sends less than half as many. */
const MOST_FRAMES = 100;

/**
 * What this hub knows about another node of its pool. Time is counted in beats of this hub: clocks of nodes are never
 * compared, and a hub that was suspended does not take its own absence for that of the others.
 */
export class Peer implements NodeReports {
  readonly #options: PeerOptions;
  #reports: ReadonlyMap<string, PodReport | null> = new Map();
  #last: { epoch: string; sequence: number } | undefined;
  #counts = false;
  #heard = false;
  #silentBeats = 0;
  #framesInBeat = 0;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Whether the node has ever been heard. Otherwise its hub may be an older one, or a firewall may be between them. */
  get heard(): boolean {
    return this.#heard;
  }

  /** While this node is cut off, all reports count; otherwise those of nodes that are cut off. */
  get known(): boolean {
    if (this.#last === undefined) return false;
    return this.#options.isCut() || (this.#counts && !this.#isSilent);
  }

  get lost(): boolean {
    return this.#heard && this.#isSilent && this.#options.isCut();
  }

  get state(): 'heard' | 'silent' | 'lost' {
    if (this.lost) return 'lost';
    return this.#heard && this.#silentBeats < 2 ? 'heard' : 'silent';
  }

  get reports(): ReadonlyMap<string, PodReport | null> {
    return this.#reports;
  }

  /** Throws a FrameError if the frame is not newer than the last one of the same process, or one of too many. */
  take({ epoch, sequence, counts, pods }: Frame): void {
    this.#framesInBeat += 1;
    if (this.#framesInBeat > MOST_FRAMES) throw new FrameError('the node sends too many frames');
    if (this.#last?.epoch === epoch && sequence <= this.#last.sequence)
      throw new FrameError(`frame ${sequence} comes after frame ${this.#last.sequence}`);
    this.#last = { epoch, sequence };
    this.#counts = counts;
    this.#reports = pods;
  }

  /** An earlier process of this hub has heard the node. */
  heardBefore(): void {
    this.#heard = true;
  }

  /** The hub of the node has shown that it is there. */
  hear(): void {
    this.#heard = true;
    this.#silentBeats = 0;
  }

  /** The machine of the node has answered, although its hub does not run. */
  answer(): void {
    this.#silentBeats = 0;
  }

  beat(): void {
    this.#framesInBeat = 0;
    this.#silentBeats += 1;
  }

  get #isSilent(): boolean {
    return this.#silentBeats >= this.#options.graceBeats;
  }
}
