/** The address of a webhook: a URL or a Service, over HTTPS. Also used for conversion webhooks of CRDs. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { required } from '../validation/checks.ts';
import { isDNS1123Subdomain, isPortNumber } from '../validation/names.ts';
import type { WebhookClientConfig } from './types.ts';

const FORM = '; desired format: https://host[/path]';

export function validateClientConfig({ url, service }: WebhookClientConfig, path: string): FieldError[] {
  if ((url === undefined) === (service === undefined)) {
    return [fieldError.required(path, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return validateUrl(url, `${path}.url`);
  return service === undefined ? [] : validateService(service, `${path}.service`);
}

function validateUrl(url: string, path: string): FieldError[] {
  const match =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:([^@/?#]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/.exec(
      url,
    );
  const [, scheme = '', user, host = '', query = '', fragment = ''] = match ?? [];
  const errors: FieldError[] = [];
  const wrong = (value: string, detail: string): void =>
    void errors.push(fieldError.invalid(path, value, detail));
  if (scheme.toLowerCase() !== 'https') wrong(scheme, `'https' is the only allowed URL scheme${FORM}`);
  if (host === '') wrong(host, `host must be specified${FORM}`);
  if (user !== undefined) wrong(user, 'user information is not permitted in the URL');
  if (fragment !== '') wrong(fragment, 'fragments are not permitted in the URL');
  if (query !== '') wrong(query, 'query parameters are not permitted in the URL');
  return errors;
}

function validateService(service: NonNullable<WebhookClientConfig['service']>, path: string): FieldError[] {
  const { namespace, name, path: urlPath = '', port = 0 } = service;
  const messages = isPortNumber(port);
  return [
    // kube-apiserver confuses the two paths here, so each error names the other field.
    ...required(`${path}.name`, namespace),
    ...required(`${path}.namespace`, name),
    ...(messages.length > 0
      ? [fieldError.invalid(`${path}.port`, port, `port is not valid: ${messages.join(', ')}`)]
      : []),
    ...validateUrlPath(urlPath, `${path}.path`),
  ];
}

function validateUrlPath(urlPath: string, path: string): FieldError[] {
  if (urlPath === '' || urlPath === '/') return [];
  const wrong = (detail: string): FieldError => fieldError.invalid(path, urlPath, detail);
  if (urlPath === '//') return [wrong('segment[0] may not be empty')];
  const steps = urlPath.slice(1).replace(/\/$/, '').split('/');
  return [
    ...(urlPath.startsWith('/') ? [] : [wrong("must start with a '/'")]),
    ...steps.flatMap((step, i) =>
      step === ''
        ? [wrong(`segment[${i}] may not be empty`)]
        : isDNS1123Subdomain(step).map((message) => wrong(`segment[${i}]: ${message}`)),
    ),
  ];
}
