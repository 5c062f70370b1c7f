/** What must hold after everything is repaired and no writes are in progress. Checked until it holds, or times out. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, qualifiedName } from '@tidegate/kube';
import { PATIENCE_MS } from '../support/patience.ts';
import type { Interest, ProgramClient } from './clients.ts';
import type { ChaosTarget } from './faults.ts';
import type { Ledger } from './ledger.ts';
import type { ViewRow } from './node.ts';
import { expected, nameOf, type Truth, truth, withoutVersion } from './oracle.ts';

/** Allows for client backoff, the detection of a silent link, and a busy machine. */
const TIMEOUT_MS = PATIENCE_MS;
const POLL_MS = 200;
/** Each hub here has a few dozen objects and a dozen clients. */
const LIMITS = { megabytes: 300, descriptors: 150 };

/** Views that the hub itself holds, for its filters, and for the endpoints of the site. */
const OWN_VIEWS = [
  'services',
  'nodepools.apps.openyurt.io',
  'nodegroups.apps.kubeedge.io',
  'configmaps',
  'pods',
];

/** Returns the difference that lasted longest; throws all differences that remain after the timeout. */
export async function settle(target: ChaosTarget, ledger: Ledger): Promise<string> {
  const end = performance.now() + TIMEOUT_MS;
  for (let last = 'nothing'; ; ) {
    const wrong = await problems(target, ledger);
    if (wrong.length === 0) return last;
    if (performance.now() > end) throw new Error(`the cluster does not settle:\n${wrong.join('\n')}`);
    last = wrong[0] ?? last;
    await sleep(POLL_MS);
  }
}

async function problems({ world, programs }: ChaosTarget, ledger: Ledger): Promise<string[]> {
  const all = await truth(world.admin);
  const unlike = programs.flatMap((program) => differences(all, program));
  if (unlike.length > 0) return unlike;
  const hubs = await Promise.all(world.nodes.map((node) => hubProblems(node, programs)));
  return [...hubs.flat(), ...(await ledger.lost(world.admin)), ...(await unlikeLists(all, programs))];
}

function differences(all: Truth, { node, program, informers }: ProgramClient): string[] {
  return informers.flatMap(({ interest, informer }) =>
    compare(
      `${program} on ${node.name}`,
      interest,
      expected(all, node, program, interest),
      informer.cache.list(),
    ),
  );
}

/** A list must return the same as a watch. */
async function unlikeLists(all: Truth, programs: readonly ProgramClient[]): Promise<string[]> {
  const compared = programs.flatMap(({ node, program, client, informers }) =>
    informers.flatMap(({ interest }) =>
      [undefined, '0'].map(async (resourceVersion) => {
        const { resource, ...select } = interest;
        const { items } = await client.list(resource, { ...select, resourceVersion });
        const subject = `a list for ${program} on ${node.name}, resourceVersion ${resourceVersion ?? 'newest'}`;
        return compare(subject, interest, expected(all, node, program, interest), items);
      }),
    ),
  );
  return (await Promise.all(compared)).flat();
}

function compare(
  subject: string,
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
      return `${subject}, ${resource.resource} ${name}:\n  sees   ${does}\n  should ${should}`;
    });
}

/** Without fields that JSON omits. */
const plain = (object: KubeObject | undefined): unknown =>
  object === undefined ? undefined : JSON.parse(JSON.stringify(object));

async function hubProblems(
  node: ProgramClient['node'],
  programs: readonly ProgramClient[],
): Promise<string[]> {
  const wrong: string[] = [];
  const waiting = await node.page('journal');
  if (waiting.length > 0) wrong.push(`the journal of ${node.name} still has ${waiting.length} entries`);
  wrong.push(...leaked(node.name, await node.page<ViewRow>('views'), programs));
  const { megabytes, descriptors } = await node.usage();
  if (megabytes > LIMITS.megabytes || descriptors > LIMITS.descriptors)
    wrong.push(`the hub of ${node.name} uses ${megabytes} MB and ${descriptors} open files`);
  return wrong;
}

/** Every open watch must belong to a client. */
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
      (name) => `${node} has ${found.get(name) ?? 0} watches of ${name}, but ${held.get(name) ?? 0} clients`,
    );
}
