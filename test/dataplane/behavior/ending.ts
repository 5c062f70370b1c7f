import { Agent } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askHttp2, http2Session } from '../support/client.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Graceful shutdown. */
export function ending(make: MakeDriver): void {
  describe('drain and close', () => {
    test('finishes open requests and refuses new connections', async () => {
      const world = await World.start(make);
      onTestFinished(() => world.stop());
      const waiting: (() => void)[] = [];
      const slow = await world.backend('slow', {
        handle: (_, response) => waiting.push(() => response.end(JSON.stringify({ backend: 'slow' }))),
      });
      await world.change({ hosts: [host('slow.io', 'slow')], upstreams: [upstream('slow', [slow.port])] });
      const agent = new Agent({ keepAlive: true });
      const session = http2Session(world.ports.https, 'slow.io');
      session.on('error', () => {});
      const asked = [
        world.respondingBackend('slow.io/', { agent }),
        askHttp2(session, 'slow.io/').then(({ echo }) => echo.backend),
      ];
      await expect.poll(() => slow.requests).toBe(2);
      const drained = world.driver.drain(20_000);
      expect(world.driver.health().ready).toBe(false);
      await expect
        .poll(() =>
          world.ask('any.io/').then(
            () => 'taken',
            () => 'refused',
          ),
        )
        .toBe('refused');
      for (const finish of waiting) finish();
      expect(await Promise.all(asked)).toEqual(['slow', 'slow']);
      await drained;
      agent.destroy();
      session.destroy();
    });

    test('stops waiting for open requests after the timeout', async () => {
      const world = await World.start(make);
      onTestFinished(() => world.stop());
      const silent = await world.backend('silent', { handle: () => {} });
      await world.change({
        hosts: [host('silent.io', 'silent')],
        upstreams: [upstream('silent', [silent.port])],
      });
      const asked = world.ask('silent.io/').then(
        () => 'answered',
        () => 'broken',
      );
      await expect.poll(() => silent.requests).toBe(1);
      await world.driver.drain(100);
      await world.driver.close();
      expect(await asked).toBe('broken');
    });
  });
}
