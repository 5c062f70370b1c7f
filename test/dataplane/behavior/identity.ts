import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ANSWER_HEADERS,
  answerBody,
  identityHost,
} from '../../../packages/tidegate/src/dataplane/answers.ts';
import { host, upstream } from '../support/words.ts';
import { IDENTITY, type MakeDriver, World } from '../support/world.ts';

/** A client that knows the UID of an L7Router can check that its router answers, and not another program. */
export function identity(make: MakeDriver): void {
  describe('the identity of a router', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make);
      const anything = await world.backend('anything');
      await world.change({
        hosts: [host('', 'anything'), host('*.tidegate.invalid', 'anything')],
        upstreams: [upstream('anything', [anything.port])],
      });
    });
    afterAll(() => world.stop());

    test.each(['/', '/any/path?query'])('is confirmed at %s, before all routes', async (path) => {
      const { status, headers, body } = await world.ask(`${identityHost(IDENTITY)}${path}`);
      expect(status).toBe(200);
      expect(body).toBe(answerBody(200));
      expect(headers.server).toBe(ANSWER_HEADERS.Server);
    });

    test('is not confirmed for another UID', async () => {
      const other = IDENTITY.replace('6', '7');
      expect(await world.respondingBackend(`${identityHost(other)}/`)).toBe('anything');
      expect(await world.respondingBackend('router.tidegate.invalid/')).toBe('anything');
    });

    test('is not part of the traffic in metrics and logs', async () => {
      await world.ask(`${identityHost(IDENTITY)}/`);
      await world.respondingBackend('seen.example/');
      await expect
        .poll(() => world.accessLog().then((lines) => lines.map(({ host: name }) => name)))
        .toContain('seen.example');
      const logged = (await world.accessLog()).map((line) => line.host);
      expect(logged).not.toContain(identityHost(IDENTITY));
    });
  });
}
