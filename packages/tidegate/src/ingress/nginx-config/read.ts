import type { RouterClients } from '../../api/index.ts';
import { annotationField, readAnnotations } from '../compile/annotations.ts';
import { NGINX_PREFIX } from '../nginx-annotations/index.ts';
import { readNetwork } from '../policy/networks.ts';
import { CONFIG_KEYS, type ConfigKey } from './keys.ts';

/** A key with a sentence about it. */
interface Finding {
  readonly key: string;
  readonly message: string;
}

/** What the keys of ingress-nginx among the parameters of a class mean. */
interface NginxConfig {
  readonly clients: RouterClients;
  /** Values of annotations, by their names without prefix, for Ingresses that do not have them. */
  readonly ingressDefaults: Readonly<Record<string, string>>;
  /** If there are any, do not use the others. */
  readonly problems: readonly Finding[];
  /** Keys without effect. */
  readonly ignored: readonly Finding[];
}

type Values = Readonly<Record<string, string>>;

const MOST_PROXIES = 500;

export function readNginxConfig(values: Values): NginxConfig {
  const written = Object.entries(values).flatMap(([key, value]) => {
    const known = CONFIG_KEYS.get(key);
    return known === undefined || isSame(known, value) ? [] : [{ key, known, value: value.trim() }];
  });
  const withVerdict = (verdict: ConfigKey['verdict']): Finding[] =>
    written
      .filter(({ known }) => known.verdict === verdict)
      .map(({ key, known }) => ({ key, message: known.text }));
  const of = (what: ConfigKey['of']): Values =>
    Object.fromEntries(
      written.filter(({ known }) => known.of === what).map(({ key, value }) => [key, value]),
    );
  const ingressDefaults = of('ingresses');
  const { clients, problems } = readClients(of('clients'));
  const refused = withVerdict('refused').map(({ key, message }) => ({
    key,
    message: `is refused. ${message}`,
  }));
  return {
    clients,
    ingressDefaults,
    problems: [...problems, ...defaultProblems(ingressDefaults), ...refused],
    ignored: withVerdict('changed'),
  };
}

/** An empty value is the same as none. */
const isSame = ({ same }: ConfigKey, value: string): boolean =>
  value.trim() === '' || same?.includes(value.trim().toLowerCase()) === true;

/** The problems that every Ingress of the class would have. */
function defaultProblems(defaults: Values): Finding[] {
  const entries = Object.entries(defaults);
  const named = new Map(entries.map(([key]) => [annotationField(NGINX_PREFIX + key), key]));
  return readAnnotations(defaultAnnotations(defaults)).problems.flatMap(({ field, message }) => {
    const key = named.get(field);
    return key === undefined ? [] : [{ key, message }];
  });
}

const FLAGS = ['use-forwarded-headers', 'enable-real-ip', 'compute-full-forwarded-for', 'use-proxy-protocol'];

function readClients(values: Values): { clients: RouterClients; problems: Finding[] } {
  const isOn = (key: string): boolean => values[key]?.toLowerCase() === 'true';
  const proxies = (values['proxy-real-ip-cidr'] ?? '').split(',').flatMap((each) => each.trim() || []);
  const header = values['forwarded-for-header'];
  const readsHeader = isOn('use-forwarded-headers') || isOn('enable-real-ip');
  const problems = [
    ...FLAGS.flatMap((key) =>
      values[key] === undefined || /^(?:true|false)$/i.test(values[key])
        ? []
        : [{ key, message: `${shown(values[key])} is invalid: write true or false` }],
    ),
    ...(header === undefined || /^[A-Za-z0-9-]{1,64}$/.test(header)
      ? []
      : [
          { key: 'forwarded-for-header', message: `${shown(header)} is invalid: write the name of a header` },
        ]),
    ...proxyProblems(proxies),
    ...FLAGS.filter((key) => isOn(key) && key !== 'compute-full-forwarded-for' && proxies.length === 0).map(
      (key) => ({ key, message: NEEDS_PROXIES }),
    ),
  ];
  const clients: RouterClients = {
    ...(proxies.length > 0 && (readsHeader || isOn('use-proxy-protocol')) && { trustedProxies: proxies }),
    ...(isOn('use-proxy-protocol') && { proxyProtocol: true }),
    ...(readsHeader && { header: header ?? 'X-Forwarded-For' }),
    ...(isOn('use-forwarded-headers') && { wholeUrl: true }),
    ...(readsHeader && isOn('compute-full-forwarded-for') && { fullForwardedFor: true }),
  };
  return { clients, problems };
}

const NEEDS_PROXIES =
  'needs proxy-real-ip-cidr. Otherwise every client could report any address. Write the addresses of the proxies in front of the router, comma-separated, for example 10.0.0.0/8';

function proxyProblems(proxies: readonly string[]): Finding[] {
  const key = 'proxy-real-ip-cidr';
  if (proxies.length > MOST_PROXIES)
    return [
      { key, message: `has ${proxies.length} networks, the limit is ${MOST_PROXIES}: combine some of them` },
    ];
  return proxies.flatMap((each) => {
    const network = readNetwork(each);
    if (network === undefined)
      return [
        { key, message: `${shown(each)} is invalid: write comma-separated networks, for example 10.0.0.0/8` },
      ];
    // ingress-nginx has this as its default.
    return network.bits === 0
      ? [
          {
            key,
            message: `${shown(each)} trusts every client, so every client could report any address. Write the addresses of the proxies in front of the router`,
          },
        ]
      : [];
  });
}

const shown = (value: string): string => JSON.stringify(value.slice(0, 100));

/** The annotations for Ingresses that do not have them. Names that a class cannot set do not count. */
export const defaultAnnotations = (defaults: Values = {}): Values =>
  Object.fromEntries(
    Object.entries(defaults)
      .filter(([key]) => CONFIG_KEYS.get(key)?.of === 'ingresses')
      .map(([key, value]) => [NGINX_PREFIX + key, value]),
  );

/** What happens to one key of a ConfigMap, if the ConfigMap has the parameters of a class. */
export function configKeyVerdict(
  key: string,
  values: Values,
): { verdict: ConfigKey['verdict']; text: string } {
  const known = CONFIG_KEYS.get(key);
  const value = values[key] ?? '';
  if (known === undefined)
    return { verdict: 'changed', text: 'Tidegate does not know this key and does nothing in its place.' };
  if (isSame(known, value)) return { verdict: 'honored', text: 'Tidegate does the same without a setting.' };
  const problem = readNginxConfig(values).problems.find((each) => each.key === key);
  return problem === undefined || known.verdict === 'refused'
    ? { verdict: known.verdict, text: known.text }
    : { verdict: 'refused', text: `As a parameter of a class, it is refused: ${problem.message}.` };
}
