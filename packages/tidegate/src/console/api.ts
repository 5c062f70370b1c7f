import type { ServerResponse } from 'node:http';
import type { Hello } from '@tidegate/console/wire';
import type { Feed } from './feed.ts';
import { type Api, type ApiRequest, ConsoleError } from './server.ts';
import { stream } from './stream.ts';

/** What a path below `/api/` answers. Undefined if the handler has answered itself. */
export type Handler = (request: ApiRequest, response: ServerResponse) => Promise<object | undefined>;

/** Finds the handler of a request, for example that of `GET trace`. */
export function apiOf(handlers: Readonly<Record<string, Handler>>): Api {
  return (request, response) => {
    const name = `${request.method} ${request.path}`;
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined) throw new ConsoleError(404, `the console does not serve ${name}`);
    return handler(request, response);
  };
}

/** The stream of rows. */
export const eventsHandler =
  (feed: Feed, hello: Hello): Handler =>
  async (_request, response) => {
    stream(response, feed, hello);
    return undefined;
  };
