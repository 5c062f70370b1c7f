/** Reads a kubeconfig file, and replaces the server in it. Everything else in the file stays as it is, comments included. */
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { EnrollError } from './error.ts';

export function serverIn(file: string, text: string): string {
  const server = clusterIn(file, text).cluster.get('server');
  if (typeof server !== 'string' || !URL.canParse(server))
    throw new EnrollError(`${file}: clusters[].cluster.server is not a URL`);
  return server;
}

/** The text with another server. */
export function withServer(file: string, text: string, server: string): string {
  const { document, cluster } = clusterIn(file, text);
  cluster.set('server', server);
  return document.toString({ lineWidth: 0 });
}

/** The fields of the user of the current context. */
export function userIn(file: string, text: string): Record<string, unknown> {
  const { named, context } = contextIn(file, text);
  return named('users', context.get('user'), 'user').toJSON() as Record<string, unknown>;
}

/** The cluster of the current context. */
function clusterIn(file: string, text: string) {
  const { document, named, context } = contextIn(file, text);
  return { document, cluster: named('clusters', context.get('cluster'), 'cluster') };
}

function contextIn(file: string, text: string) {
  const document = parseDocument(text);
  const [syntax] = document.errors;
  if (syntax !== undefined) throw new EnrollError(`${file}: ${syntax.message.split('\n')[0]}`);
  const named = (list: string, name: unknown, field: string): YAMLMap => {
    const all = document.get(list);
    const entry = isSeq(all)
      ? all.items.find((item): item is YAMLMap => isMap(item) && item.get('name') === name)
      : undefined;
    const found = entry?.get(field);
    if (!isMap(found))
      throw new EnrollError(`${file}: ${list} has no entry ${JSON.stringify(name)} with the field ${field}`);
    return found;
  };
  return { document, named, context: named('contexts', document.get('current-context'), 'context') };
}
