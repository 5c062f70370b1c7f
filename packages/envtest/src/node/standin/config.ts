import { readFileSync } from 'node:fs';

/** The configuration of a stand-in, in a file that the agent rewrites when something changes. */
export interface StandInConfig {
  pod: string;
  namespace: string;
  node: string;
  pool: string | null;
  image: string;
  address: string;
  ports: number[];
  /** Work that is expected to complete, for example of a Job, completes immediately. */
  completes: boolean;
}

/** The agent writes the file, so its content is not validated. Fields may be missing if the stand-in is run by hand. */
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
