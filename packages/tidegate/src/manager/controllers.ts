/** The controllers of each part, and when they run: while this manager holds the lease of the part. */
import { setMaxListeners } from 'node:events';
import { LeaderElector } from '@tidegate/kube';
import { approvalController } from '../approval/index.ts';
import { applicationController } from '../apps/index.ts';
import { runIngressControllers, servedDisruptionBudgets } from '../ingress/index.ts';
import { type PoolsContext, poolControllers } from '../pools/index.ts';
import { yurtAppControllers } from '../yurtapps/index.ts';
import { yurtIngressControllers } from '../yurtingress/index.ts';
import { LEASES, type LedPart } from './names.ts';
import type { ManagerOptions } from './options.ts';
import { untilAccepted } from './until-accepted.ts';

/** Runs the controllers of one part while this manager is its leader. */
export async function lead(
  part: LedPart,
  options: ManagerOptions,
  context: PoolsContext,
  signal: AbortSignal,
): Promise<void> {
  const runControllers = async (leading: AbortSignal): Promise<void> => {
    // Every controller adds a listener, which would exceed the default limit.
    setMaxListeners(0, leading);
    await CONTROLLERS[part](options, context, leading);
  };
  if (!options.leaderElection) return runControllers(signal);
  const { client, clock, identity, metrics, log } = options;
  const election = { ...LEASES[part], identity, clock, metrics, log };
  await new LeaderElector(client, election).run(signal, runControllers);
}

type RunControllers = (
  options: ManagerOptions,
  context: PoolsContext,
  signal: AbortSignal,
) => Promise<unknown>;

/**
 * The controllers of each part. They are created when this manager becomes the leader and not earlier: a manager that is
 * not the leader does not need a cache of all pods.
 */
const CONTROLLERS: Readonly<Record<LedPart, RunControllers>> = {
  pools: ({ hubAddresses, nodeAddresses = '' }, context, signal) =>
    Promise.all(
      [...poolControllers(context), approvalController({ ...context, hubAddresses, nodeAddresses })].map(
        (controller) => controller.run(signal),
      ),
    ),
  apps: (_, context, signal) =>
    Promise.all(
      [applicationController(context), ...yurtAppControllers(context)].map((controller) =>
        controller.run(signal),
      ),
    ),
  routers: async ({ routerImage, routerPolicy, routerPorts, provisioners }, context, signal) => {
    const { client, clock, log } = context;
    const disruptionBudgets = await untilAccepted(
      'report its API versions',
      () => servedDisruptionBudgets(client),
      { clock, log, signal },
    );
    const all = {
      ...context,
      routerImage,
      routerPolicy,
      routerPorts,
      disruptionBudgets,
      ...(provisioners && { provisioners }),
    };
    return Promise.all([
      ...yurtIngressControllers(all).map((controller) => controller.run(signal)),
      runIngressControllers(all, signal),
    ]);
  },
};
