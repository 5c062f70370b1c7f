import type { NginxSettings } from '../model/nginx-answer.ts';
import { nginxServers, type Server } from '../model/nginx-servers.ts';
import { TidegateSide } from '../model/tidegate-side.ts';
import { type MigrationObjects, settingsOf } from '../report/report.ts';
import { type Moved, type SelectionOptions, selectIngresses } from '../select.ts';

/** What both controllers are expected to do with the Ingresses, to explain differences. */
export interface Models {
  readonly ingresses: Moved['ingresses'];
  readonly servers: ReadonlyMap<string, Server>;
  readonly settings: NginxSettings;
  readonly tidegate: TidegateSide;
}

/** Undefined if there is no Ingress of ingress-nginx. An address is that of one controller, so all of its classes count together. */
export function modelsOf(
  objects: MigrationObjects,
  options: SelectionOptions,
  now: number,
): Models | undefined {
  const { moved } = selectIngresses(objects.ingresses, objects.classes, options);
  const ingresses = moved.flatMap((each) => each.ingresses);
  if (ingresses.length === 0) return undefined;
  const classNames = moved.flatMap((each) => each.classNames);
  return {
    ingresses,
    servers: nginxServers(ingresses),
    settings: settingsOf(objects.configMaps),
    tidegate: new TidegateSide({ controller: '', classNames, ingresses }, now),
  };
}
