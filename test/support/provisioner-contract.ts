/**
 * The contract of provisioners, for any of them: what users and the manager can rely on. A case creates objects as users do
 * and watches what the provisioner writes. It needs an API server, the ingress controllers of a manager, and the provisioner.
 */
import assert from 'node:assert/strict';
import {
  Applier,
  type Condition,
  getCondition,
  INGRESSES,
  type KubeClient,
  type KubeObject,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router } from '../../packages/tidegate/src/api/index.ts';
import { ingressObject, undefinedIfGone } from '../ingress/support.ts';
import { eventually } from './patience.ts';

export interface ProvisionerSubject {
  readonly client: KubeClient;
  /** An IngressClass of the provisioner, with a drain time of at most some seconds. It has no Ingresses. */
  readonly className: string;
  /** The status code of a request for a host at an address. Undefined: connections are refused. */
  readonly ask?: (address: { ip?: string; port: number }, host: string) => Promise<number | undefined>;
}

export const PROVISIONER_CONTRACT: readonly {
  readonly name: string;
  run(subject: ProvisionerSubject): Promise<void>;
}[] = [
  {
    name: 'reports addresses, Ready and the generation after the hosts are served',
    run: reportsWhatItServes,
  },
  { name: 'applies every later generation', run: appliesLaterGenerations },
  { name: 'removes the load balancer of a deleted router, and lets the router go', run: removesAll },
  { name: 'creates a load balancer again', run: reportsWhatItServes },
];

async function reportsWhatItServes(subject: ProvisionerSubject): Promise<void> {
  await make(subject, ingressObject('contract-a', subject.className, ['a.contract.example']));
  const router = await served(subject, 'a.contract.example');
  const [address] = router.status?.addresses ?? [];
  assert.ok(address?.ip ?? address?.hostname, 'status.addresses has an entry with ip or hostname');
  await isAnswered(subject, router, 'a.contract.example');
  await eventually(async () => (await listed(subject, 'contract-a')).includes(textOf(address)));
}

async function appliesLaterGenerations(subject: ProvisionerSubject): Promise<void> {
  const { metadata } = await served(subject, 'a.contract.example');
  await make(subject, ingressObject('contract-b', subject.className, ['b.contract.example']));
  const router = await served(subject, 'b.contract.example');
  if (router.metadata.name === metadata.name)
    assert.ok((router.metadata.generation ?? 0) > (metadata.generation ?? 0), 'the generation has increased');
  await isAnswered(subject, router, 'b.contract.example');
  await subject.client.delete(INGRESSES, { name: 'contract-b', namespace: 'shop' });
  await eventually(async () => (await routerOf(subject, 'b.contract.example')) === undefined);
}

async function removesAll(subject: ProvisionerSubject): Promise<void> {
  const { status } = await served(subject, 'a.contract.example');
  await subject.client.delete(INGRESSES, { name: 'contract-a', namespace: 'shop' });
  await eventually(async () => (await routersOf(subject)).length === 0);
  const { ask } = subject;
  const [address] = status?.addresses ?? [];
  const [port] = address?.ports ?? [];
  if (ask === undefined || port === undefined) return;
  await eventually(
    async () => (await ask({ ip: address?.ip, port: port.port }, 'a.contract.example')) !== 200,
  );
}

const make = async ({ client }: ProvisionerSubject, object: KubeObject): Promise<unknown> =>
  new Applier(client, 'contract').apply(object);

async function routersOf({ client, className }: ProvisionerSubject): Promise<L7Router[]> {
  const { items } = await client.list(L7_ROUTERS);
  return items.filter(({ spec }) => spec.ingressClassName === className);
}

const routerOf = async (subject: ProvisionerSubject, host: string): Promise<L7Router | undefined> =>
  (await routersOf(subject)).find(({ spec }) => spec.hosts?.includes(host) && !spec.leaving?.includes(host));

/** Waits until the router of the host reports that it serves its current generation. */
async function served(subject: ProvisionerSubject, host: string): Promise<L7Router> {
  return (await eventually(async () => {
    const router = await routerOf(subject, host);
    const ready = getCondition(router?.status?.conditions as Condition[] | undefined, 'Ready');
    const isApplied = (router?.status?.appliedGeneration ?? 0) >= (router?.metadata.generation ?? 1);
    return ready?.status === 'True' && isApplied && router;
  })) as L7Router;
}

async function isAnswered({ ask }: ProvisionerSubject, { status }: L7Router, host: string): Promise<void> {
  const [address] = status?.addresses ?? [];
  const [port] = address?.ports ?? [];
  if (ask === undefined || port === undefined) return;
  // The proxy of a node opens the node port of a new Service by itself, and no event reports when.
  const code = await eventually(() => ask({ ip: address?.ip, port: port.port }, host));
  // The generation was reported before, so there is nothing else to wait for. 503: the Service has no endpoints.
  assert.ok(code === 200 || code === 503, `the router has reported ${host}, but answers ${code}`);
}

async function listed({ client }: ProvisionerSubject, name: string): Promise<string[]> {
  const ingress = await client.get(INGRESSES, { name, namespace: 'shop' }).catch(undefinedIfGone);
  return (ingress?.status?.loadBalancer?.ingress ?? []).map(textOf);
}

const textOf = (address: { ip?: string; hostname?: string } | undefined): string =>
  `${address?.ip ?? address?.hostname}`;
