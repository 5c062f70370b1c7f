/** Each router: what its status says, and whether it really answers at its addresses. */
import { isIPv6 } from 'node:net';
import { getCondition } from '@tidegate/kube';
import { L7_ROUTERS, type RouterAddress } from '../../api/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

export const frontDoors: Check = {
  name: 'front-doors',
  title: 'Front doors',
  when: 'installed',
  async run({ client, ask, signal }) {
    const { items } = await client.list(L7_ROUTERS, { signal });
    const findings = await Promise.all(
      items.map(async ({ metadata, status }): Promise<Finding[]> => {
        const name = `L7Router ${metadata.name}`;
        const ready = getCondition(status?.conditions, 'Ready');
        if (ready?.status !== 'True')
          return [
            error(
              `${name} is not Ready: ${ready?.message ?? 'it has no status yet'}`,
              `kubectl describe l7router ${metadata.name}`,
            ),
          ];
        const urls = (status?.addresses ?? []).flatMap(urlOf);
        if (urls.length === 0)
          return [warning(`${name} has no address`, `kubectl describe l7router ${metadata.name}`)];
        return Promise.all(urls.map((url) => answerOf(name, url, ask)));
      }),
    );
    return items.length === 0 ? [ok('there is no router yet')] : findings.flat();
  },
};

async function answerOf(name: string, url: string, ask: (url: string) => Promise<number>): Promise<Finding> {
  try {
    // Every answer counts: without a host that it knows, a router answers 404.
    return ok(`${name} answers at ${url} (${await ask(url)})`);
  } catch (cause) {
    return error(
      `${name} does not answer at ${url}: ${(cause as Error).message}`,
      'check that this machine reaches the address, and the pods of the router',
    );
  }
}

/** The first port is HTTP. */
function urlOf({ ip, hostname, ports }: RouterAddress): string[] {
  const host = ip !== undefined && isIPv6(ip) ? `[${ip}]` : (ip ?? hostname);
  const port = ports?.[0]?.port;
  return host === undefined || port === undefined ? [] : [`http://${host}:${port}/`];
}
