/**
 * `tidegate check`: finds out what is wrong with an installation, or what would be wrong with a new one.
 *
 * Every check is one file in checks/ with the same signature (check.ts): it looks at one thing, changes nothing, and returns
 * findings. A finding that is not ok has a hint: what the user can do. run-checks.ts runs them.
 */
import type { Check } from './check.ts';
import { apiServer } from './checks/api-server.ts';
import { clock } from './checks/clock.ts';
import { frontDoors } from './checks/front-doors.ts';
import { hubs } from './checks/hubs.ts';
import { leftovers } from './checks/leftovers.ts';
import { manager } from './checks/manager.ts';
import { nodePorts } from './checks/node-ports.ts';
import { objects } from './checks/objects.ts';
import { permissions } from './checks/permissions.ts';
import { pools } from './checks/pools.ts';
import { webhook } from './checks/webhook.ts';

export type { CheckContext, Finding } from './check.ts';
export { type CheckReport, hasErrors, runChecks } from './run-checks.ts';

/** In the order of the output: what others depend on comes first. */
const ALL: readonly Check[] = [
  apiServer,
  permissions,
  clock,
  leftovers,
  objects,
  manager,
  webhook,
  hubs,
  pools,
  frontDoors,
  nodePorts,
];

export const checksFor = (phase: 'pre' | 'installed'): readonly Check[] =>
  ALL.filter(({ when }) => when === 'always' || when === phase);
