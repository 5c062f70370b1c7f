import { isNotFound, type KubeClient, type KubeObject, type Resource, type Target } from '@tidegate/kube';

/** How an object tells which write it has seen last. */
export type NumberOf = (object: KubeObject) => number;

interface Line {
  resource: Resource;
  target: Target;
  uid: string | undefined;
  numberOf: NumberOf;
  acknowledged: number;
}

/** What hubs have said to be done. Writes of one object come one after the other, with growing numbers. */
export class Ledger {
  readonly #lines = new Map<string, Line>();
  writes = 0;

  /** `uid`: of the object that was written; it may go, and take the write with it. Undefined for one that was made. */
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

  /** What is not as it was said to be. */
  async lost(admin: KubeClient): Promise<string[]> {
    const lost: string[] = [];
    for (const { resource, target, uid, numberOf, acknowledged } of this.#lines.values()) {
      const name = `${resource.resource} ${target.name}`;
      const object = await admin.get(resource, target).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (uid === undefined && object === undefined) lost.push(`${name} was made, and is not there`);
      if (object === undefined || (uid !== undefined && object.metadata.uid !== uid)) continue;
      const there = numberOf(object);
      if (!(there >= acknowledged))
        lost.push(`${name}: write ${acknowledged} was answered, ${there} is there`);
    }
    return lost;
  }
}
