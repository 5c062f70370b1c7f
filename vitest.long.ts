/**
 * Tests that take minutes: they replay a thousand kubectl commands, run every command of the documentation, kill processes again
 * and again, or keep clusters under load for a while. `npm run test:long` runs them apart from `npm test`, which should not take longer than a
 * coffee. Both run before a change is merged.
 */
export const LONG = [
  'test/apiserver/crash.test.ts',
  'test/chaos/chaos.test.ts',
  'test/cluster/crash.test.ts',
  'test/cluster/workloads.test.ts',
  'test/docs/commands.test.ts',
  'test/first-run/strangers.test.ts',
  'test/ingress/moves.test.ts',
  'test/ingress/shared-pods.test.ts',
  'test/install/install.test.ts',
  'test/kubectl/kubectl.test.ts',
  'test/router/churn.test.ts',
  'test/soak/soak.test.ts',
];
