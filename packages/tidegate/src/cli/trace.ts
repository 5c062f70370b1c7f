import { Command, InvalidArgumentError, Option } from 'commander';
import { classNameOf } from '../ingress/compile/index.ts';
import type { MatchRequest } from '../ingress/match/index.ts';
import type { Trace, TraceObjects } from '../router/index.ts';
import { kubeconfigOption } from './cluster-client.ts';
import { CommandError, fail } from './process.ts';
import { readTraceCluster, readTraceFiles } from './trace-objects.ts';
import { traceText } from './trace-text.ts';

interface Options {
  class?: string;
  pool?: string;
  header: Record<string, string>;
  from?: string[];
  kubeconfig?: string;
  output?: 'json';
}

export function traceCommand(): Command {
  return new Command('trace')
    .description('explain where a request goes, and why: class, router, rule, Service and endpoints')
    .argument('<url>', 'such as http://shop.example.com/cart', parseUrl)
    .option('--class <name>', 'only this IngressClass (default: all that have the host)')
    .option('--pool <name>', 'as a router in this pool serves it')
    .addOption(
      new Option('--header <name:value>', 'a header of the request; may be given several times')
        .argParser(addHeader)
        .default({}, 'none'),
    )
    .option('--from <file...>', 'manifests to look at instead of a cluster; - reads standard input')
    .addOption(kubeconfigOption())
    .addOption(new Option('-o, --output <format>', 'for programs').choices(['json']))
    .addHelpText(
      'after',
      `
Nothing is sent to the host: the answer comes from the objects alone, by the rules that routers go by.

Examples:
  tidegate trace http://shop.example.com/cart
  tidegate trace https://shop.example.com/ --class gold --pool hangzhou
  tidegate trace http://shop.example.com/cart --from ingress.yaml --from services.yaml
  kubectl get ingress,service,endpointslice -A -o yaml | tidegate trace http://shop.example.com/ --from -`,
    )
    .action(run);
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('it must begin with http:// or https://.');
  return new URL(text);
}

function addHeader(text: string, before: Record<string, string>): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('it must be a name and a value, such as x-user:anna.');
  return { ...before, [text.slice(0, colon).trim().toLowerCase()]: text.slice(colon + 1).trim() };
}

async function run(url: URL, options: Options, command: Command): Promise<void> {
  try {
    const request = requestOf(url, command.args[0] ?? '', options.header);
    const objects =
      options.from === undefined
        ? await readTraceCluster(options.kubeconfig, request)
        : await readTraceFiles(options.from);
    const traces = await traceAll(objects, request, options);
    if (options.output === 'json') console.log(JSON.stringify(traces, undefined, 2));
    else console.log(traces.map((each) => traceText(each, request, options.pool)).join('\n\n'));
  } catch (error) {
    fail(error);
  }
}

/** The path as it was written: a URL would make something else of dots and of what is not encoded. */
function requestOf(url: URL, written: string, headers: Record<string, string>): MatchRequest {
  const path = /^[a-z]+:\/\/[^/?#]*(\/[^#]*)?/i.exec(written)?.[1] ?? '/';
  return { host: headers.host ?? url.host, path, headers, secure: url.protocol === 'https:' };
}

/** Of the classes that Ingresses have, those that know the host and have a router in the pool; else one of both, else all. */
async function traceAll(
  objects: TraceObjects,
  request: MatchRequest,
  { class: only, pool }: Options,
): Promise<Trace[]> {
  const { trace } = await import('../router/index.ts');
  const used = [...new Set(objects.ingresses.flatMap((ingress) => classNameOf(ingress) ?? []))].sort();
  const classNames = only === undefined ? used : [only];
  if (classNames.length === 0) throw new CommandError('there is no Ingress that has a class.');
  const traces = classNames.map((className) => trace(objects, { ...request, className, pool }, Date.now()));
  const isKnown = ({ match }: Trace): boolean => match.kind !== 'notFound';
  const isServed = ({ routers }: Trace): boolean => pool === undefined || routers.length > 0;
  const known = traces.filter(isKnown);
  const choices = [known.filter(isServed), known, traces.filter(isServed), traces];
  return choices.find((some) => some.length > 0) ?? [];
}
