import { isNotFound, type KubeClient, type KubeObject, type Resource, type Target } from '@tidegate/kube';

/** Returns the number of the last write that an object contains. */
export type NumberOf = (object: KubeObject) => number;

/** The last acknowledged write of an object. */
interface Line {
  resource: Resource;
  target: Target;
  uid: string | undefined;
  numberOf: NumberOf;
  acknowledged: number;
}

/** The writes that hubs have acknowledged. The writes of one object are sequential, with increasing numbers. */
export class Ledger {
  readonly #lines = new Map<string, Line>();
  writes = 0;

  /**
   * `uid` is that of the written object; if the object is deleted, the write is too. Undefined for a created object.
   */
  acknowledged(
    resource: Resource,
    target: Target,
    uid: string | undefined,
    number: number,
    numberOf: NumberOf,
  ): void {
    this.writes += 1;
    const key = [resource.resource, target.namespace, target.name, uid].join(' ');
    this.#lines.set(key, { resource, target, uid, numberOf, acknowledged: number });
  }

  /** The acknowledged writes that the API server does not have. */
  async lost(admin: KubeClient): Promise<string[]> {
    const lost: string[] = [];
    for (const { resource, target, uid, numberOf, acknowledged } of this.#lines.values()) {
      const name = `${resource.resource} ${target.name}`;
      const object = await admin.get(resource, target).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (uid === undefined && object === undefined) lost.push(`${name} was created, but does not exist`);
      if (object === undefined || (uid !== undefined && object.metadata.uid !== uid)) continue;
      const there = numberOf(object);
      if (!(there >= acknowledged))
        lost.push(`${name}: write ${acknowledged} was acknowledged, but the API server has ${there}`);
    }
    return lost;
  }
}
