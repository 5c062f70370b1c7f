/**
 * Kinds that an application cannot contain. What an object of such a kind may do depends on the user that writes it: admission
 * checks what its author may create, or the API server records the user that asked for a certificate. In an application, that user would be
 * the manager, so every author would have its permissions. For all other kinds, the author needs the permission to write them, and
 * their effect does not depend on the user that writes them.
 */
import type { GroupVersionKind } from '@tidegate/kube';
import { EDGE_APPLICATIONS, YURT_APP_DAEMONS, YURT_APP_OVERRIDERS, YURT_APP_SETS } from '../../api/index.ts';

const CERTIFICATES = 'certificates.k8s.io';

const AUTHOR_KINDS = new Set([
  `${EDGE_APPLICATIONS.group}/EdgeApplication`,
  `${YURT_APP_SETS.group}/YurtAppSet`,
  `${YURT_APP_DAEMONS.group}/YurtAppDaemon`,
  `${YURT_APP_OVERRIDERS.group}/YurtAppOverrider`,
]);

export const dependsOnAuthor = ({ group, kind }: Pick<GroupVersionKind, 'group' | 'kind'>): boolean =>
  group === CERTIFICATES || AUTHOR_KINDS.has(`${group}/${kind}`);
