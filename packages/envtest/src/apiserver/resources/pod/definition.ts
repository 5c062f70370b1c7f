import { define, statusOf } from '../define.ts';
import type { BuiltinHooks } from '../hooks.ts';
import type { Connect, ResourceDefinition, Subresource } from '../types.ts';
import { addDefaultTolerations, preparePodForCreate } from './admission.ts';
import { bindPod } from './binding.ts';
import { defaultPod } from './defaults.ts';
import { podTable } from './table.ts';
import type { Pod } from './types.ts';
import { validatePodUpdate } from './update.ts';
import { validatePod } from './validate.ts';
import { podWarnings } from './warnings.ts';

export const pods = (hooks: BuiltinHooks): ResourceDefinition =>
  define<Pod>({
    kind: 'Pod',
    plural: 'pods',
    shortNames: ['po'],
    categories: ['all'],
    parts: ['spec', 'status'],
    generation: true,
    returnsDeleted: true,
    table: podTable,
    subresources: {
      ...statusOf('', 'v1', 'Pod'),
      binding: { group: '', version: 'v1', kind: 'Binding', verbs: ['create'], handle: bindPod },
      eviction: {
        group: 'policy',
        version: 'v1',
        kind: 'Eviction',
        verbs: ['create'],
        handle: hooks.eviction,
      },
      log: { group: '', version: 'v1', kind: 'Pod', verbs: ['get'], connect: hooks.kubelets.log },
      exec: stream('PodExecOptions', hooks.kubelets.exec),
      attach: stream('PodAttachOptions', hooks.kubelets.attach),
      portforward: stream('PodPortForwardOptions', hooks.kubelets.portforward),
    },
    selectableFields: ({ spec, status }) => ({
      'spec.nodeName': spec.nodeName ?? '',
      'spec.restartPolicy': spec.restartPolicy ?? '',
      'spec.schedulerName': spec.schedulerName ?? '',
      'spec.serviceAccountName': spec.serviceAccountName ?? '',
      'spec.hostNetwork': String(spec.hostNetwork ?? false),
      'status.phase': status.phase ?? '',
      'status.podIP': status.podIPs?.[0]?.ip ?? '',
      'status.nominatedNodeName': status.nominatedNodeName ?? '',
    }),
    defaults: defaultPod,
    prepareForCreate: preparePodForCreate,
    prepareForUpdate: ({ spec }) => addDefaultTolerations(spec),
    validate: validatePod,
    validateUpdate: validatePodUpdate,
    warnings: podWarnings,
  });

/** Clients start a stream with GET or POST. */
const stream = (kind: string, connect: Connect): Subresource => ({
  group: '',
  version: 'v1',
  kind,
  verbs: ['create', 'get'],
  connect,
});
