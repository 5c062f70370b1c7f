import { getPublicSuffix } from 'tldts';
import type { HostName } from '../model.ts';

/** A label that no rule of the list names. */
const ANY = '0';

/**
 * The domain of a wildcard directly above public suffixes or the names that are registered there: `com` for `*.com`,
 * `co.uk` for `*.co.uk`. Undefined for other hosts. Any user of the Internet can register such names, so a claim to the
 * wildcard would cover hosts of every other tenant. Suffixes of companies count (`*.github.io`), and so does every name
 * without a dot (`*.internal`), as the Public Suffix List defines it.
 */
export function publicSuffixBelow(host: HostName): string | undefined {
  if (!host.startsWith('*.')) return undefined;
  const name = host.slice(2);
  const suffix = getPublicSuffix(`${ANY}.${name}`, { allowPrivateDomains: true, extractHostname: false });
  return suffix !== null && suffix.length >= name.length ? name : undefined;
}
