import { readFileSync } from 'node:fs';

/** What the agent tells a stand-in, in a file that it rewrites when something changes. */
export interface StandInConfig {
  pod: string;
  namespace: string;
  node: string;
  pool: string | null;
  image: string;
  address: string;
  ports: number[];
  /** Work that is expected to end, such as a Job's, is done at once. */
  completes: boolean;
}

/** The agent writes the file, so its form is trusted; whoever runs a stand-in by hand may leave fields out. */
export function readStandInConfig(file: string): StandInConfig {
  const given = JSON.parse(readFileSync(file, 'utf8')) as Partial<StandInConfig>;
  return {
    pod: given.pod ?? '',
    namespace: given.namespace ?? 'default',
    node: given.node ?? '',
    pool: given.pool ?? null,
    image: given.image ?? '',
    address: given.address ?? '127.0.0.1',
    ports: given.ports ?? [],
    completes: given.completes ?? false,
  };
}
