/** Where an OpenStack cloud is, and how to authenticate there. */
export interface Cloud {
  readonly auth: CloudAuth;
  readonly region?: string;
  readonly interface: 'public' | 'internal' | 'admin';
  /** PEM certificates to trust, in addition to those of the system. */
  readonly ca?: string;
  /** False accepts any certificate. */
  readonly verify: boolean;
  /** Base URLs that replace those of the catalog. */
  readonly endpoints: Partial<Record<ServiceType, string>>;
}

/** Services by their type in the catalog of Keystone. */
export type ServiceType = 'load-balancer' | 'network' | 'key-manager';

export type CloudAuth =
  /** No authentication: a cloud for tests, or behind a proxy that authenticates. */
  | { readonly type: 'none'; readonly projectId: string }
  /** `identity` and `scope` are the fields of the same name in the token request of Keystone v3. */
  | { readonly type: 'keystone'; readonly url: string; readonly identity: object; readonly scope?: object };

/** The configuration of the cloud is wrong. The message names the file and key, and contains no secrets. */
export class CloudConfigError extends Error {
  override readonly name = 'CloudConfigError';
}

/** The fields of `auth` in clouds.yaml. The variables of the environment have the same names, after `OS_`. */
export type AuthFields = Partial<
  Record<
    | 'auth_url'
    | 'username'
    | 'user_id'
    | 'password'
    | 'user_domain_name'
    | 'user_domain_id'
    | 'project_name'
    | 'project_id'
    | 'project_domain_name'
    | 'project_domain_id'
    | 'domain_name'
    | 'domain_id'
    | 'application_credential_id'
    | 'application_credential_name'
    | 'application_credential_secret',
    string
  >
>;

/** `where` is the file or the environment, for messages. */
export function authOf(type: string | undefined, fields: AuthFields, where: string): CloudAuth {
  if (type === 'none')
    return { type: 'none', projectId: fields.project_id ?? fields.project_name ?? 'default' };
  const isCredential = fields.application_credential_secret !== undefined;
  const known = [undefined, 'password', 'v3password', 'v3applicationcredential'];
  if (!known.includes(type))
    throw new CloudConfigError(
      `${where}: auth_type ${type} is not supported: use password, v3applicationcredential or none.`,
    );
  const need = (name: keyof AuthFields): string => {
    const value = fields[name];
    if (value === undefined || value === '') throw new CloudConfigError(`${where}: ${name} is missing.`);
    return value;
  };
  const url = need('auth_url');
  if (!/^https?:\/\//.test(url))
    throw new CloudConfigError(`${where}: auth_url must start with http:// or https://.`);
  if (isCredential || type === 'v3applicationcredential')
    return { type: 'keystone', url, identity: credentialIdentity(fields, need) };
  const identity = {
    methods: ['password'],
    password: { user: { ...userOf(fields, need), password: need('password') } },
  };
  return { type: 'keystone', url, identity, scope: scopeOf(fields, where) };
}

function credentialIdentity(fields: AuthFields, need: (name: keyof AuthFields) => string): object {
  const secret = need('application_credential_secret');
  const { application_credential_id: id } = fields;
  const credential =
    id !== undefined
      ? { id, secret }
      : { name: need('application_credential_name'), secret, user: userOf(fields, need) };
  return { methods: ['application_credential'], application_credential: credential };
}

function userOf(fields: AuthFields, need: (name: keyof AuthFields) => string): object {
  if (fields.user_id !== undefined) return { id: fields.user_id };
  return { name: need('username'), domain: domainOf(fields.user_domain_id, fields.user_domain_name) };
}

function scopeOf(fields: AuthFields, where: string): object {
  if (fields.project_id !== undefined) return { project: { id: fields.project_id } };
  if (fields.project_name === undefined)
    throw new CloudConfigError(`${where}: project_id or project_name is missing.`);
  const domain = domainOf(fields.project_domain_id, fields.project_domain_name);
  return { project: { name: fields.project_name, domain } };
}

const domainOf = (id: string | undefined, name: string | undefined): object =>
  id === undefined ? { name: name ?? 'Default' } : { id };
