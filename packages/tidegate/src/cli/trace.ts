import { Command, InvalidArgumentError, Option } from 'commander';
import { classNameOf } from '../ingress/compile/index.ts';
import type { MatchRequest } from '../ingress/match/index.ts';
import type { Trace, TraceObjects } from '../router/index.ts';
import { type ClusterFlags, contextOption, kubeconfigOption } from './cluster-client.ts';
import { FILENAME_FLAGS, outputOption } from './options.ts';
import { CommandError, fail } from './process.ts';
import { readTraceCluster, readTraceFiles } from './trace-objects.ts';
import { traceText } from './trace-text.ts';

interface Options extends ClusterFlags {
  class?: string;
  pool?: string;
  client?: string;
  withoutCertificate?: boolean;
  header: Record<string, string>;
  filename?: string[];
  namespace?: string;
  output?: 'json';
}

export function traceCommand(): Command {
  return new Command('trace')
    .description('Explain how a request is routed: class, router, rule, Service and endpoints')
    .argument('<url>', 'URL of the request, for example http://shop.example.com/cart', parseUrl)
    .option('--class <name>', 'trace this IngressClass only (default: all classes with the host)')
    .option('--pool <name>', 'trace as a router in this pool would route')
    .option('--client <address>', 'IP address of the client, for allow and deny lists')
    .option('--without-certificate', 'trace the request of a client without a client certificate')
    .addOption(
      new Option('--header <name:value>', 'header of the request (repeatable)')
        .argParser(addHeader)
        .default({}, 'none'),
    )
    .option(
      FILENAME_FLAGS.replace('<file>', '<file...>'),
      'files with manifests to read instead of a cluster; - reads standard input',
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option(
      '-n, --namespace <name>',
      'read the Ingresses of this namespace only (default: of all namespaces)',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
No request is sent. The result is computed from the objects with the same code that routers use.

Examples:
  tidegate trace http://shop.example.com/cart
  tidegate trace https://shop.example.com/ --class gold --pool hangzhou
  tidegate trace http://shop.example.com/cart --context production -n shop
  tidegate trace http://shop.example.com/cart -f ingress.yaml -f services.yaml
  kubectl get ingress,service,endpointslice -A -o yaml | tidegate trace http://shop.example.com/ -f -`,
    )
    .action(run);
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('Use a URL that starts with http:// or https://.');
  return new URL(text);
}

function addHeader(text: string, before: Record<string, string>): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('Use a name and a value, for example x-user:anna.');
  return { ...before, [text.slice(0, colon).trim().toLowerCase()]: text.slice(colon + 1).trim() };
}

async function run(url: URL, options: Options, command: Command): Promise<void> {
  try {
    const request = requestOf(url, command.args[0] ?? '', options.header);
    const objects =
      options.filename === undefined
        ? await readTraceCluster(options, request)
        : await readTraceFiles(options.filename);
    const traces = await traceAll(objects, request, options);
    if (options.output === 'json') console.log(JSON.stringify(traces.map(jsonOf), undefined, 2));
    else console.log(traces.map((each) => traceText(each, request, options.pool)).join('\n\n'));
  } catch (error) {
    fail(error);
  }
}

/** The JSON output uses the names of the other commands: `ingressClass` as in `status`, `provisioner` as in `get`. */
const jsonOf = ({ className, controller, ...rest }: Trace): object => ({
  ingressClass: className,
  provisioner: controller,
  ...rest,
});

/** Keeps the path as it was written. The URL class would normalize dots and encode characters. */
function requestOf(url: URL, written: string, headers: Record<string, string>): MatchRequest {
  const path = /^[a-z]+:\/\/[^/?#]*(\/[^#]*)?/i.exec(written)?.[1] ?? '/';
  return { host: headers.host ?? url.host, path, headers, secure: url.protocol === 'https:' };
}

/**
 * Traces all classes that Ingresses use. Returns the best results: those that know the host and have a router in the
 * pool, or else those that meet one of these conditions, or else all.
 */
async function traceAll(
  objects: TraceObjects,
  request: MatchRequest,
  { class: only, pool, client, namespace, withoutCertificate = false }: Options,
): Promise<Trace[]> {
  const { trace } = await import('../router/index.ts');
  const used = [...new Set(objects.ingresses.flatMap((ingress) => classNameOf(ingress) ?? []))].sort();
  const classNames = only === undefined ? used : [only];
  if (classNames.length === 0)
    throw new CommandError(
      `no Ingress with a class found${namespace === undefined ? '' : ` in namespace ${namespace}`}`,
    );
  const traces = classNames.map((className) =>
    trace(objects, { ...request, className, pool, client, withoutCertificate }, Date.now()),
  );
  const isKnown = ({ match }: Trace): boolean => match.kind !== 'notFound';
  const isServed = ({ routers }: Trace): boolean => pool === undefined || routers.length > 0;
  const known = traces.filter(isKnown);
  const choices = [known.filter(isServed), known, traces.filter(isServed), traces];
  return choices.find((some) => some.length > 0) ?? [];
}
