import { type Agent, request } from 'undici';
import { hammer, quantile } from '../report.ts';
import { configMap } from './objects.ts';

/** Number of events; the result is a quantile over all watchers and rounds. */
const ROUNDS = 20;

/** Time from sending a POST until each of `count` watchers has read the event. */
export async function watchFanOut(
  url: string,
  agent: Agent,
  watching: Agent,
  count: number,
): Promise<{ p50: number; p99: number }> {
  const path = `${url}/api/v1/namespaces/kube-public/configmaps`;
  const samples: number[] = [];
  let sentAt = 0;
  let seen = 0;
  let finished: () => void = () => undefined;
  const ends: (() => void)[] = [];
  await hammer(count, 50, async () => {
    const { body } = await request(`${path}?watch=true&resourceVersion=${''}`, { dispatcher: watching });
    // Only events of the rounds count, not the initial ones.
    body.on('data', (chunk: Buffer) => {
      if (sentAt === 0 || !chunk.includes('"type":"ADDED"')) return;
      samples.push(performance.now() - sentAt);
      if (++seen === count) finished();
    });
    body.on('error', () => undefined);
    ends.push(() => body.destroy());
  });
  for (let round = 0; round < ROUNDS; round++) {
    const arrived = new Promise<void>((resolve) => {
      finished = resolve;
    });
    seen = 0;
    sentAt = performance.now();
    const { body } = await request(path, {
      dispatcher: agent,
      method: 'POST',
      body: configMap(`fan-${round}`),
    });
    await body.dump();
    await arrived;
  }
  for (const end of ends) end();
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) };
}
