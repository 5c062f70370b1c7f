import { SERVICE_ACCOUNTS } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { inEveryNamespace } from './in-every-namespace.ts';

const NAME = 'default';

/** Keeps the ServiceAccount of pods that do not name one. Its content is left to the users. */
export const serviceAccountController: MakeController = (context) =>
  inEveryNamespace(context, {
    name: 'serviceaccount',
    resource: SERVICE_ACCOUNTS,
    objectName: NAME,
    make: () => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME } }),
    repair: (current) => current,
  });
