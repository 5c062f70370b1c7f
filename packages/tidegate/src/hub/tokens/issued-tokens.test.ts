import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { temporaryDirectory } from '@tidegate/disk/testing';
import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { IssuedTokens, type TokenRequest } from './index.ts';

const ACCOUNT = { namespace: 'web', name: 'shop' };
const HOUR_MS = 3_600_000;

const asked = (uid = 'pod-1', audiences: string[] = ['api']): TokenRequest => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  metadata: {},
  spec: {
    audiences,
    expirationSeconds: 3607,
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid },
  },
});

class World {
  readonly clock = new VirtualClock();
  path!: string;
  map!: DurableMap;
  tokens!: IssuedTokens;

  static async start(maxTokens?: number): Promise<World> {
    const world = new World();
    world.path = join(await temporaryDirectory(), 'tokens');
    await world.open(maxTokens);
    onTestFinished(() => world.map.close());
    return world;
  }

  async open(maxTokens?: number): Promise<void> {
    this.map = await DurableMap.open(this.path);
    this.tokens = await IssuedTokens.open(this.map, { clock: this.clock, maxTokens });
  }

  issue(token: string, request = asked(), lifeMs = HOUR_MS, account = ACCOUNT): TokenRequest {
    const expirationTimestamp = new Date(this.clock.now() + lifeMs).toISOString().replace('.000', '');
    const answer = { ...request, status: { token, expirationTimestamp } };
    this.tokens.remember(account, request, answer);
    return answer;
  }

  async tokenFor(request: TokenRequest, account = ACCOUNT): Promise<string | undefined> {
    return (await this.tokens.find(account, request))?.status?.token;
  }
}

describe('issued tokens', () => {
  it('are returned again for the same purpose, also after a restart', async () => {
    const world = await World.start();
    world.issue('old');
    const answer = world.issue('new');
    await world.map.close();
    await world.open();
    expect(await world.tokens.find(ACCOUNT, asked())).toEqual(answer);
    expect((await stat(world.path)).mode & 0o777).toBe(0o600);
  });

  it('are never returned for another purpose', async () => {
    const world = await World.start();
    world.issue('secret', asked('pod-1', ['api', 'vault']));
    expect(await world.tokenFor(asked('pod-1', ['vault', 'api']))).toBe('secret');
    expect(await world.tokenFor(asked('pod-2', ['api', 'vault']))).toBeUndefined();
    expect(await world.tokenFor(asked('pod-1', ['api']))).toBeUndefined();
    for (const account of [
      { ...ACCOUNT, namespace: 'other' },
      { ...ACCOUNT, name: 'other' },
    ])
      expect(await world.tokenFor(asked('pod-1', ['api', 'vault']), account)).toBeUndefined();
    const unbound = { ...asked(), spec: { audiences: ['api', 'vault'] } };
    expect(await world.tokenFor(unbound)).toBeUndefined();
  });

  it('that have expired are returned with a lifetime of ten minutes', async () => {
    const world = await World.start();
    const answer = world.issue('late');
    await world.clock.advance(HOUR_MS - 1000);
    expect(await world.tokens.find(ACCOUNT, asked())).toEqual(answer);
    await world.clock.advance(1000);
    const again = await world.tokens.find(ACCOUNT, asked());
    expect(again).toEqual({
      ...answer,
      status: { token: 'late', expirationTimestamp: '2026-01-01T01:10:00Z' },
    });
  });

  it('are deleted with their pods', async () => {
    const world = await World.start();
    const unbound = { ...asked(), spec: { audiences: ['api'] } };
    world.issue('gone', asked('pod-1'));
    world.issue('kept', asked('pod-2'));
    world.issue('free', unbound);
    world.tokens.forgetExcept(new Set(['pod-2']));
    expect(await world.tokenFor(asked('pod-1'))).toBeUndefined();
    expect(await world.tokenFor(asked('pod-2'))).toBe('kept');
    expect(await world.tokenFor(unbound)).toBe('free');
  });

  it('are limited in number, and the oldest are deleted', async () => {
    const world = await World.start(2);
    for (const uid of ['a', 'b', 'a', 'c']) {
      world.issue(`${uid}'s`, asked(uid));
      await world.clock.advance(1000);
    }
    await world.map.close();
    await world.open(2);
    expect(world.tokens.size).toBe(2);
    expect(await world.tokenFor(asked('b'))).toBeUndefined();
    world.issue("d's", asked('d'));
    expect(await world.tokenFor(asked('a'))).toBeUndefined();
    expect(await world.tokenFor(asked('c'))).toBe("c's");
  });

  it('are not pushed out by a tenant whose pods need many', async () => {
    const world = await World.start(10);
    world.issue('kept', asked('pod-1'));
    for (const name of ['a', 'b'])
      for (let i = 0; i < 20; i++)
        world.issue(`${i}`, asked('pod-2', [`audience-${i}`]), HOUR_MS, { namespace: 'greedy', name });
    await world.map.close();
    await world.open(10);
    expect(await world.tokenFor(asked('pod-1'))).toBe('kept');
    expect(world.tokens.size).toBe(10);
  });

  it('are stored only if the response contains a token', async () => {
    const world = await World.start();
    world.tokens.remember(ACCOUNT, asked(), asked());
    expect(world.tokens.size).toBe(0);
  });
});
