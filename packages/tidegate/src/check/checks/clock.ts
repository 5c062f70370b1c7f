/** The clocks of this machine, the API server and the nodes. Certificates, tokens and leases depend on them. */
import { type KubeObject, LEASES } from '@tidegate/kube';
import { type Check, ok, warning } from '../check.ts';

const MOST_MS = 5_000;
const NTP = 'synchronize the clock with NTP, for example with chrony or systemd-timesyncd';

export const clock: Check = {
  name: 'clock',
  title: 'Clocks',
  when: 'always',
  async run({ client, now, signal }) {
    const before = now();
    const server = await serverTime(client, signal);
    const [earliest, latest] = [before, now()];
    const findings = [];
    // The API server rounds down to a second.
    const skew = server < earliest - 1000 ? server + 1000 - earliest : Math.max(0, server - latest);
    if (Math.abs(skew) > MOST_MS)
      findings.push(
        warning(
          `the clock of the API server is ${Math.abs(Math.round(skew / 1000))} s ${skew > 0 ? 'ahead of' : 'behind'} this machine`,
          NTP,
        ),
      );
    const { items } = await client.list(LEASES, { namespace: 'kube-node-lease', signal });
    for (const { metadata, spec } of items) {
      // A node that is cut off has an old lease; only a clock that is wrong writes one from the future.
      const ahead = Date.parse(spec?.renewTime ?? '') - server - (now() - before) - 1000;
      if (ahead > MOST_MS)
        findings.push(
          warning(
            `the clock of node ${metadata.name} is ${Math.round(ahead / 1000)} s ahead of the API server`,
            NTP,
          ),
        );
    }
    return findings.length === 0 ? [ok('no clock is more than 5 s off')] : findings;
  },
};

/** The time of the API server: it sets the creation time of an object, also in a dry run. */
async function serverTime(
  client: Parameters<Check['run']>[0]['client'],
  signal: AbortSignal,
): Promise<number> {
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { generateName: 'tidegate-check-', namespace: 'default' },
  } as KubeObject;
  const { metadata } = await client.create(LEASES, lease, { dryRun: true, signal });
  return Date.parse(metadata.creationTimestamp ?? '');
}
