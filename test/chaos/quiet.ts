/** What must hold once everything is mended and nobody writes: looked at until it does, or for far too long. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, qualifiedName } from '@tidegate/kube';
import type { Interest, ProgramClient } from './clients.ts';
import type { Shaken } from './faults.ts';
import type { Ledger } from './ledger.ts';
import type { ViewRow } from './node.ts';
import { expected, nameOf, type Truth, truth, withoutVersion } from './oracle.ts';

/** Backoff of clients, a silent line that has to be noticed, a busy machine. */
const LONGEST_MS = 120_000;
const LOOK_AGAIN_MS = 200;
/** Hubs here know some dozens of objects, and have a dozen clients. */
const MOST = { megabytes: 300, descriptors: 150 };

/** Views that the hub itself holds: what its filters look at. */
const OWN_VIEWS = ['services', 'nodepools.apps.openyurt.io', 'nodegroups.apps.kubeedge.io', 'configmaps'];

/** Returns what was wrong for the longest; throws what is still wrong when it has taken too long. */
export async function settle(shaken: Shaken, ledger: Ledger): Promise<string> {
  const end = performance.now() + LONGEST_MS;
  for (let last = 'nothing'; ; ) {
    const wrong = await wrongs(shaken, ledger);
    if (wrong.length === 0) return last;
    if (performance.now() > end) throw new Error(`it does not settle:\n${wrong.join('\n')}`);
    last = wrong[0] ?? last;
    await sleep(LOOK_AGAIN_MS);
  }
}

async function wrongs({ world, programs }: Shaken, ledger: Ledger): Promise<string[]> {
  const all = await truth(world.admin);
  const unlike = programs.flatMap((program) => differences(all, program));
  if (unlike.length > 0) return unlike;
  const hubs = await Promise.all(world.nodes.map((node) => wrongsOfHub(node, programs)));
  return [...hubs.flat(), ...(await ledger.lost(world.admin)), ...(await unlikeLists(all, programs))];
}

function differences(all: Truth, { node, program, informers }: ProgramClient): string[] {
  return informers.flatMap(({ interest, informer }) =>
    compare(
      `${program} of ${node.name}`,
      interest,
      expected(all, node, program, interest),
      informer.cache.list(),
    ),
  );
}

/** Those who list get the same as those who watch. */
async function unlikeLists(all: Truth, programs: readonly ProgramClient[]): Promise<string[]> {
  const compared = programs.flatMap(({ node, program, client, informers }) =>
    informers.flatMap(({ interest }) =>
      [undefined, '0'].map(async (resourceVersion) => {
        const { resource, ...select } = interest;
        const { items } = await client.list(resource, { ...select, resourceVersion });
        const who = `a list for ${program} of ${node.name}, resourceVersion ${resourceVersion ?? 'newest'}`;
        return compare(who, interest, expected(all, node, program, interest), items);
      }),
    ),
  );
  return (await Promise.all(compared)).flat();
}

function compare(
  who: string,
  { resource }: Interest,
  wanted: Map<string, KubeObject>,
  items: readonly KubeObject[],
): string[] {
  const seen = new Map(items.map((object) => [nameOf(object), withoutVersion(object)]));
  const names = new Set([...wanted.keys(), ...seen.keys()]);
  return [...names]
    .filter((name) => !isDeepStrictEqual(plain(wanted.get(name)), plain(seen.get(name))))
    .map((name) => {
      const [should, does] = [wanted.get(name), seen.get(name)].map((object) => JSON.stringify(object));
      return `${who}, ${resource.resource} ${name}:\n  sees   ${does}\n  should ${should}`;
    });
}

/** Without what JSON leaves out. */
const plain = (object: KubeObject | undefined): unknown =>
  object === undefined ? undefined : JSON.parse(JSON.stringify(object));

async function wrongsOfHub(
  node: ProgramClient['node'],
  programs: readonly ProgramClient[],
): Promise<string[]> {
  const wrong: string[] = [];
  const waiting = await node.page('journal');
  if (waiting.length > 0) wrong.push(`the journal of ${node.name} has ${waiting.length} entries left`);
  wrong.push(...leaked(node.name, await node.page<ViewRow>('views'), programs));
  const { megabytes, descriptors } = await node.weight();
  if (megabytes > MOST.megabytes || descriptors > MOST.descriptors)
    wrong.push(`the hub of ${node.name} has ${megabytes} MB and ${descriptors} open files`);
  return wrong;
}

/** Every watch that is open belongs to somebody. */
function leaked(node: string, views: readonly ViewRow[], programs: readonly ProgramClient[]): string[] {
  const held = new Map<string, number>(OWN_VIEWS.map((name) => [name, 1]));
  for (const program of programs.filter((each) => each.node.name === node)) {
    for (const { interest } of program.informers) {
      const name = qualifiedName(interest.resource);
      held.set(name, (held.get(name) ?? 0) + 1);
    }
  }
  const found = new Map<string, number>();
  for (const { resource, clients } of views) {
    const name = resource.replace(/\/[^/]+$/, '');
    found.set(name, (found.get(name) ?? 0) + clients);
  }
  return [...new Set([...held.keys(), ...found.keys()])]
    .filter((name) => (held.get(name) ?? 0) !== (found.get(name) ?? 0))
    .map(
      (name) => `${node} has ${found.get(name) ?? 0} watches of ${name}, and ${held.get(name) ?? 0} clients`,
    );
}
