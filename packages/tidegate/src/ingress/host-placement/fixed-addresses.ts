/** Allocates the fixed addresses and node ports of a class to its routers, one each. Pure. */
import type { RouterWorkload } from '../../api/index.ts';
import type { FixedAddresses } from '../classes/settings.ts';

export type Allocated = Pick<RouterWorkload, 'addresses' | 'nodePorts'>;

/** A router with what it has now. */
interface Sibling {
  readonly name: string;
  readonly workload?: Allocated;
}

/**
 * A router keeps what it has as long as the class still lists it. The others get what is free, in the order of the routers.
 * A router that gets nothing has an empty list of addresses, or no node port: it is not provisioned, because at any other
 * address no client would look for it.
 */
export function allocate(fixed: FixedAddresses, routers: readonly Sibling[]): Map<string, Allocated> {
  const addresses = assign(fixed.addresses, routers, ({ addresses }) => addresses?.[0]);
  const http = assign(fixed.httpNodePorts, routers, ({ nodePorts }) => nodePorts?.http);
  const https = assign(fixed.httpsNodePorts, routers, ({ nodePorts }) => nodePorts?.https);
  const hasPorts = fixed.httpNodePorts !== undefined || fixed.httpsNodePorts !== undefined;
  return new Map(
    routers.map(({ name }) => {
      const address = addresses.get(name);
      const isExhausted =
        (fixed.httpNodePorts !== undefined && !http.has(name)) ||
        (fixed.httpsNodePorts !== undefined && !https.has(name));
      const nodePorts = {
        ...(http.has(name) && { http: http.get(name)! }),
        ...(https.has(name) && { https: https.get(name)! }),
      };
      return [
        name,
        {
          ...(fixed.addresses !== undefined && { addresses: address === undefined ? [] : [address] }),
          ...(hasPorts && { nodePorts: isExhausted ? {} : nodePorts }),
        },
      ];
    }),
  );
}

/** Whether the class has fixed addresses or node ports, and the router got none of them. */
export const isExhausted = ({ addresses, nodePorts }: Allocated = {}): boolean =>
  addresses?.length === 0 || (nodePorts !== undefined && Object.keys(nodePorts).length === 0);

function assign<T>(
  values: readonly T[] | undefined,
  routers: readonly Sibling[],
  current: (workload: Allocated) => T | undefined,
): Map<string, T> {
  const free = new Set(values);
  const given = new Map<string, T>();
  const give = (name: string, value: T | undefined): void => {
    if (value === undefined || given.has(name) || !free.delete(value)) return;
    given.set(name, value);
  };
  for (const { name, workload = {} } of routers) give(name, current(workload));
  for (const { name } of routers) if (!given.has(name)) give(name, [...free][0]);
  return given;
}
