/** The application that `tidegate rollout` is about, and its revisions. */
import {
  type ControllerRevision,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
} from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication, YURT_APP_DAEMONS, YURT_APP_SETS } from '../api/index.ts';
import { revisionsOf } from '../apps/index.ts';
import { applicationNameOf } from '../yurtapps/index.ts';
import { CommandError } from './process.ts';

export interface RolloutObject {
  /** For messages: kind, namespace and name, as the user wrote it. */
  readonly text: string;
  readonly application: EdgeApplication;
  /** The object that users edit: the EdgeApplication, or the application of OpenYurt that it belongs to. */
  readonly source: KubeObject;
  readonly resource: Resource<KubeObject>;
}

const KINDS: Readonly<Record<string, [kind: string, resource: Resource<KubeObject>]>> = {
  edgeapplication: ['EdgeApplication', EDGE_APPLICATIONS as Resource<KubeObject>],
  eapp: ['EdgeApplication', EDGE_APPLICATIONS as Resource<KubeObject>],
  yurtappset: ['YurtAppSet', YURT_APP_SETS as Resource<KubeObject>],
  yas: ['YurtAppSet', YURT_APP_SETS as Resource<KubeObject>],
  yurtappdaemon: ['YurtAppDaemon', YURT_APP_DAEMONS as Resource<KubeObject>],
  yad: ['YurtAppDaemon', YURT_APP_DAEMONS as Resource<KubeObject>],
};

/** Finds `NAME`, or `KIND/NAME`. */
export async function findApplication(
  client: KubeClient,
  namespace: string,
  reference: string,
): Promise<RolloutObject> {
  const [name = '', alias = 'edgeapplication'] = reference.split('/').toReversed();
  const known = KINDS[alias.toLowerCase().replace(/s$/, '')] ?? KINDS[alias.toLowerCase()];
  if (known === undefined || name === '')
    throw new CommandError(
      `${JSON.stringify(reference)} is not an application: use NAME, yurtappset/NAME or yurtappdaemon/NAME`,
    );
  const [kind, resource] = known;
  const text = `${kind} ${namespace}/${name}`;
  const source = await read(client, resource, { namespace, name }, text);
  if (kind === 'EdgeApplication')
    return { text, source, resource, application: source as unknown as EdgeApplication };
  const derived = applicationNameOf({ kind, metadata: { name } });
  const application = await read(
    client,
    EDGE_APPLICATIONS as Resource<KubeObject>,
    { namespace, name: derived },
    `EdgeApplication ${namespace}/${derived} of ${text}`,
  );
  return { text, source, resource, application: application as unknown as EdgeApplication };
}

async function read(
  client: KubeClient,
  resource: Resource<KubeObject>,
  target: { namespace: string; name: string },
  text: string,
): Promise<KubeObject> {
  try {
    return await client.get(resource, target);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(`${text} not found: check the name and the namespace (-n)`);
  }
}

export const revisionsIn = (
  client: KubeClient,
  { source, application }: RolloutObject,
): Promise<ControllerRevision[]> =>
  revisionsOf(client, { object: source, application: `${application.metadata.name}` });

/** Writes the content of a revision into the object that users edit. Returns the number of the revision. */
export async function undo(client: KubeClient, found: RolloutObject, wanted?: string): Promise<number> {
  const revisions = await revisionsIn(client, found);
  const revision =
    wanted === undefined ? revisions.at(-2) : revisions.find((one) => String(one.revision) === wanted);
  if (revision === undefined)
    throw new CommandError(
      revisions.length === 0
        ? `${found.text} has no revisions: an EdgeApplication has revisions when spec.rollout is set`
        : `${found.text} has no such revision; existing revisions: ${revisions.map((one) => one.revision).join(', ')}`,
    );
  const content = (revision.data as unknown as { spec: Record<string, unknown> }).spec;
  const fields = Object.entries(content).map(([field, value]) => [field, withoutDirective(value)] as const);
  const { name, namespace, resourceVersion } = found.source.metadata;
  const patch = [
    { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
    ...fields.map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value })),
  ];
  await client.patch(found.resource, { name: `${name}`, namespace: `${namespace}` }, 'json', patch, {
    fieldManager: 'tidegate-rollout',
  });
  return revision.revision;
}

/** Revisions of OpenYurt are strategic merge patches that replace a field. */
function withoutDirective(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$patch' in value)) return value;
  const { $patch: _, ...rest } = value;
  return rest;
}
