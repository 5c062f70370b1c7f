import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type AuthFields, authOf, type Cloud, CloudConfigError, type ServiceType } from './cloud.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The options of a cloud in clouds.yaml, and, in upper case after `OS_`, in the environment. */
interface CloudFields {
  auth?: AuthFields & { endpoint?: string };
  auth_type?: string;
  region_name?: string;
  interface?: string;
  cacert?: string;
  verify?: boolean;
  load_balancer_endpoint_override?: string;
  network_endpoint_override?: string;
  key_manager_endpoint_override?: string;
}

/**
 * Reads the cloud as the tools of OpenStack do: the cloud `OS_CLOUD` of clouds.yaml, or else the variables `OS_...` of
 * the environment.
 */
export async function readCloud(environment: Environment): Promise<Cloud> {
  const name = environment.OS_CLOUD;
  if (name === undefined || name === '') {
    if (!environment.OS_AUTH_URL && !environment.OS_AUTH_TYPE)
      throw new CloudConfigError(
        'No cloud is configured: set OS_CLOUD to the name of a cloud in clouds.yaml, or set OS_AUTH_URL and the other variables OS_....',
      );
    return cloudOf(fieldsOf(environment), 'the environment (OS_...)');
  }
  const { path, text } = await cloudsFile(environment);
  const document = parse(text) as { clouds?: Record<string, CloudFields> } | null;
  const fields = Object.hasOwn(document?.clouds ?? {}, name) ? document?.clouds?.[name] : undefined;
  if (fields === undefined) {
    const known = Object.keys(document?.clouds ?? {}).join(', ') || 'none';
    throw new CloudConfigError(`${path}: clouds.${name} does not exist (OS_CLOUD); the file has: ${known}.`);
  }
  return cloudOf(fields, `${path}, clouds.${name}`);
}

async function cloudsFile(environment: Environment): Promise<{ path: string; text: string }> {
  const given = environment.OS_CLIENT_CONFIG_FILE;
  const paths =
    given === undefined || given === ''
      ? ['clouds.yaml', join(homedir(), '.config/openstack/clouds.yaml'), '/etc/openstack/clouds.yaml']
      : [given];
  for (const path of paths) {
    try {
      return { path, text: await readFile(path, 'utf8') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new CloudConfigError(`OS_CLOUD is set, but none of these files exists: ${paths.join(', ')}.`);
}

async function cloudOf(fields: CloudFields, where: string): Promise<Cloud> {
  const endpoint = fields.auth?.endpoint;
  const { interface: face = 'public' } = fields;
  if (face !== 'public' && face !== 'internal' && face !== 'admin')
    throw new CloudConfigError(`${where}: interface must be public, internal or admin, not ${face}.`);
  const endpoints: Partial<Record<ServiceType, string>> = {};
  const overrides = {
    'load-balancer': fields.load_balancer_endpoint_override ?? endpoint,
    network: fields.network_endpoint_override,
    'key-manager': fields.key_manager_endpoint_override,
  };
  for (const [service, url] of Object.entries(overrides))
    if (url !== undefined && url !== '') endpoints[service as ServiceType] = url.replace(/\/+$/, '');
  return {
    auth: authOf(fields.auth_type, fields.auth ?? {}, where),
    interface: face,
    verify: fields.verify !== false,
    endpoints,
    ...(fields.region_name !== undefined && { region: fields.region_name }),
    ...(fields.cacert !== undefined && fields.cacert !== '' && { ca: await readFile(fields.cacert, 'utf8') }),
  };
}

function fieldsOf(environment: Environment): CloudFields {
  const value = (name: string): string | undefined => environment[`OS_${name.toUpperCase()}`] || undefined;
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name) => (value(name) === undefined ? [] : [[name, `${value(name)}`]])),
    );
  return {
    auth: pick([
      ...['auth_url', 'username', 'user_id', 'password', 'user_domain_name', 'user_domain_id'],
      ...['project_name', 'project_id', 'project_domain_name', 'project_domain_id', 'endpoint'],
      ...['application_credential_id', 'application_credential_name', 'application_credential_secret'],
    ]) as AuthFields,
    ...pick([
      ...['auth_type', 'region_name', 'interface', 'cacert'],
      ...['load_balancer_endpoint_override', 'network_endpoint_override', 'key_manager_endpoint_override'],
    ]),
    ...(value('insecure') !== undefined && { verify: !/^(1|true|yes)$/i.test(`${value('insecure')}`) }),
  };
}
