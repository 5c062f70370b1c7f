/** What the installation of a hub would do on this node, without doing it. */
import { existsSync, readFileSync } from 'node:fs';
import { EnrollError } from './error.ts';
import type { Layout } from './files.ts';
import { serverIn, withServer } from './kubeconfig-server.ts';
import { nodeNameIn } from './node-name.ts';
import { type HubListeners, ownUpstream } from './own-upstream.ts';
import { type EnrollmentRecord, readRecord } from './record.ts';

export interface EnrollRequest {
  layout: Layout;
  nodeName: string;
  mode: EnrollmentRecord['mode'];
  listeners: HubListeners;
  /** For a node without credentials: a bootstrap token, the API server and its certificate authority. */
  join?: { token: string; server: string; ca: string };
  /** Other kubeconfig files of the node to take over, for example that of kube-proxy. */
  others: readonly string[];
}

export interface Enrollment {
  request: EnrollRequest;
  record: EnrollmentRecord;
  /** Files of the hub itself, which the kubelet does not use. */
  hubFiles: Map<string, string>;
  /** Files that change when the hub answers. */
  takeOver: Map<string, string>;
  bootstrap: boolean;
}

/** Throws an EnrollError if the node is not in a state that can be changed safely. */
export function planEnrollment(request: EnrollRequest): Enrollment {
  const { layout, nodeName, mode, listeners, join, others } = request;
  const hubUrl = `https://${listeners.bindAddress}:${listeners.httpsPort}`;
  const before = readRecord(layout.record);
  if (before !== undefined && before.mode !== mode)
    throw new EnrollError(`a hub is installed as ${before.mode}: run tidegate hub uninstall first`);
  for (const file of others)
    if (!existsSync(file)) throw new EnrollError(`--take-over ${file}: the file does not exist`);
  // What an earlier installation has changed must be given back too.
  const earlier = before?.takenOver.map(({ file }) => file) ?? [];
  const record: EnrollmentRecord = { nodeName, mode, takenOver: [], created: [...(before?.created ?? [])] };
  const hubFiles = new Map<string, string>();
  const takeOver = new Map<string, string>();
  for (const file of new Set([layout.kubelet, ...others, ...earlier])) {
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    const server = upstreamOf(file, serverIn(file, text), before, listeners);
    record.takenOver.push({ file, server });
    takeOver.set(file, withServer(file, text, hubUrl));
    if (file !== layout.kubelet) continue;
    hubFiles.set(layout.hub, withServer(file, text, server));
    const actual = nodeNameIn(layout.root, file, text);
    if (actual !== undefined && actual !== nodeName)
      throw new EnrollError(
        `${file}: the kubelet is node ${actual}, not ${nodeName}: set --node-name ${actual}`,
      );
  }
  const hasCredentials = hubFiles.has(layout.hub);
  if (!hasCredentials) {
    if (join === undefined)
      throw new EnrollError(
        `${layout.kubelet} does not exist: this node has not joined a cluster. Join it first, or set --node-token, --server and --ca-file`,
      );
    const own = ownUpstream([join.server], listeners);
    if (own !== undefined) throw new EnrollError(`--server ${own} is the hub itself: set the API server`);
    hubFiles.set(layout.hubBootstrap, bootstrapConfig(join, join.server));
    // The kubelet writes the file itself, with the server of its bootstrap file.
    record.takenOver.push({ file: layout.kubelet, server: join.server });
    // The kubelet joins through the hub, with the same token.
    if (!existsSync(layout.kubeletBootstrap)) {
      takeOver.set(layout.kubeletBootstrap, bootstrapConfig(join, hubUrl));
      record.created.push(layout.kubeletBootstrap);
    }
  }
  record.created.push(...hubFiles.keys());
  return { request, record, hubFiles, takeOver, bootstrap: !hasCredentials };
}

/** The API server behind a kubeconfig. A file that names the hub already is fine only if it is known what it named before. */
function upstreamOf(
  file: string,
  server: string,
  before: EnrollmentRecord | undefined,
  listeners: HubListeners,
): string {
  if (ownUpstream([server], listeners) === undefined) return server;
  const known = before?.takenOver.find((each) => each.file === file)?.server;
  if (known !== undefined) return known;
  throw new EnrollError(
    `${file} names ${server}, which is the hub itself: the hub would be its own API server. Set clusters[].cluster.server to the API server of the cluster, and run the command again`,
  );
}

const bootstrapConfig = ({ token, ca }: { token: string; ca: string }, server: string): string =>
  `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'bootstrap',
      contexts: [{ name: 'bootstrap', context: { cluster: 'cluster', user: 'bootstrap' } }],
      clusters: [
        {
          name: 'cluster',
          cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
        },
      ],
      users: [{ name: 'bootstrap', user: { token } }],
    },
    undefined,
    2,
  )}\n`;
