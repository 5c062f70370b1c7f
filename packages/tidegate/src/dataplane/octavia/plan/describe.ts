import type { PolicyKey } from './state.ts';

/** Which requests a policy is for, as a user would write it. */
export function hostText({ section, host, path, match }: PolicyKey): string {
  const name = host === '' ? 'all hosts' : host;
  if (section === 'redirect') return `${name} (over HTTP)`;
  if (section === 'rest') return `${name} (all other paths)`;
  const suffix = section === 'shared' ? ' (rule without a host)' : '';
  return `${name}${host === '' ? ' ' : ''}${path} ${match}${suffix}`;
}
