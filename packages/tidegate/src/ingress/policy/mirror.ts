import type { PolicyReader } from './annotation-reader.ts';
import { type ExternalServer, readServerUrl } from './external-server.ts';
import { type UrlTemplate, urlText } from './url-template.ts';

/** A copy of each request that is forwarded goes to another server. Its answer is not used. */
export interface Mirror {
  /** ID of the upstream with the server. */
  readonly upstream: string;
  readonly secure: boolean;
  /** The header Host. */
  readonly host: string;
  readonly target: UrlTemplate;
  /** The copy has the body of the request. */
  readonly withBody: boolean;
}

/** Annotations of this file. With an invalid value, requests are not mirrored. */
export const MIRROR_NAMES = ['mirror-target', 'mirror-host', 'mirror-request-body'];

export function readMirror(
  reader: PolicyReader,
  namespace: string,
): { mirror: Mirror; server: ExternalServer } | undefined {
  const withBody = reader.choice('mirror-request-body', ['on', 'off']) === 'on';
  const own = readHost(reader);
  if ((reader.text('mirror-target') ?? '') === '') return undefined;
  const url = readServerUrl(reader, 'mirror-target', namespace);
  if (url === undefined) return undefined;
  const { secure, host, target, server } = url;
  if (server === undefined) {
    reader.invalid('mirror-target', reader.text('mirror-target') ?? '', 'a URL whose host is not a variable');
    return undefined;
  }
  return { mirror: { upstream: server.id, secure, host: own ?? host, target, withBody }, server };
}

function readHost(reader: PolicyReader): string | undefined {
  const text = reader.text('mirror-host') ?? '';
  if (text === '') return undefined;
  if (/^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,20}(?::[0-9]{1,5})?$/.test(text)) return text;
  reader.invalid('mirror-host', text, 'a host name, with a port if it is needed');
  return undefined;
}

export const describeMirror = ({ secure, host, target, withBody }: Mirror): string =>
  `sends a copy of each request${withBody ? '' : ', without its body,'} to ${secure ? 'https' : 'http'}://${host}${urlText(target)}`;
