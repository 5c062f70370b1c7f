import { type Driver, type Listening, NeedsFullState, type Unserved } from '../../dataplane/driver.ts';
import { applyDelta, DeltaGapError, EMPTY_TABLE, type RouteTable } from '../../ingress/match/index.ts';
import type { Delta } from '../../ingress/model.ts';

/** A driver without a data plane that records the deltas it gets. */
export class RecordingDriver implements Driver {
  readonly deltas: Delta[] = [];
  readonly calls: string[] = [];
  table: RouteTable = EMPTY_TABLE;
  /** Errors to reject the next deltas with, in this order. */
  readonly refusals: Error[] = [];
  /** What the data plane has no room for. */
  withoutRoom: Unserved[] = [];

  async start(first?: Delta): Promise<Listening> {
    if (first !== undefined) await this.apply(first);
    this.calls.push('start');
    return { http: 80, https: 443 };
  }

  async apply(delta: Delta): Promise<void> {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) throw refusal;
    try {
      this.table = applyDelta(this.table, delta);
    } catch (error) {
      if (error instanceof DeltaGapError) throw new NeedsFullState(error.message);
      throw error;
    }
    this.deltas.push(delta);
  }

  health(): { ready: boolean; reasons: string[] } {
    return { ready: true, reasons: [] };
  }

  unserved(): Unserved[] {
    return this.withoutRoom;
  }

  async metrics(): Promise<string> {
    return '# metrics of the driver\n';
  }

  async drain(ms: number): Promise<void> {
    this.calls.push(`drain ${ms}`);
  }

  async close(): Promise<void> {
    this.calls.push('close');
  }

  /** `address:port` of the endpoints of all upstreams, by upstream ID. */
  endpoints(): Record<string, string[]> {
    const entries = [...this.table.upstreams.values()].map(({ id, endpoints }) => [
      id,
      endpoints.map(({ address, port }) => `${address}:${port}`),
    ]);
    return Object.fromEntries(entries);
  }

  /** The hosts with routes. */
  hosts(): string[] {
    const hosts = [...this.table.hosts.values()];
    return hosts
      .filter(({ routes, fallback }) => routes.length > 0 || fallback !== undefined)
      .map(({ host }) => host)
      .sort();
  }
}
