import { EmbeddedDriver } from '../../packages/tidegate/src/dataplane/embedded/index.ts';
import { NginxDriver } from '../../packages/tidegate/src/dataplane/nginx/index.ts';
import type { RouterRequest } from './router-grammar.ts';
import { type Leniency, startRouterTarget } from './router-target.ts';
import type { FuzzTarget } from './target.ts';

/**
 * nginx overwrites one space before a bare LF, and the second CR before an LF, before Lua can see them; and it reads the
 * lines of chunks itself.
 */
const OF_NGINX: Leniency = {
  accepts(bytes) {
    const [head = '', body = ''] = bytes.split(/\r\n\r\n(.*)/s);
    const isChunked = /^transfer-encoding:\s*chunked\s*$/im.test(head);
    return / \n|\r\r\n/.test(`${head}\r\n`) || (isChunked && body !== '');
  },
};

const OF_NODE: Leniency = { accepts: () => false };

export const startNginxRouter = (): Promise<FuzzTarget<RouterRequest>> =>
  startRouterTarget('router with nginx', (...args) => new NginxDriver(...args), OF_NGINX);

export const startEmbeddedRouter = (): Promise<FuzzTarget<RouterRequest>> =>
  startRouterTarget('embedded router', (...args) => new EmbeddedDriver(...args), OF_NODE);
