/** Checks that routes respond as they should, and with their latest certificate. */
import { get } from 'node:http';
import { connect } from 'node:tls';
import type { Route } from './route.ts';
import type { World } from './world.ts';

/** The differences between the routes and the responses, at all nodes whose link is up. */
export async function routeProblems(world: World): Promise<string[]> {
  const pools = world.sites.pools.filter((pool) => world.sites.linkOf(pool) === 'up');
  const here = (route: Route): boolean => pools.includes(route.pool);
  const kept = [...world.routes.values()].filter(here);
  const checks = [
    ...kept.map((route) => check(world, route, route.service === 'nginx-service' ? 200 : 503)),
    ...world.gone.filter(here).map((route) => check(world, route, 404)),
  ];
  return (await Promise.all(checks)).flat();
}

async function check(world: World, route: Route, expected: number): Promise<string[]> {
  const address = world.sites.addressesOf(route.pool)[0];
  if (address === undefined) return [];
  const ports = world.portsOf(route.pool);
  const status = await statusOf(address, ports.http, route);
  const wrong =
    status === expected
      ? []
      : [`${route.pool}: ${route.host}${route.path} responds with ${status}, expected ${expected}`];
  if (route.fingerprint === undefined || expected === 404) return wrong;
  const shown = await fingerprintAt(address, ports.https, route.host);
  return shown === route.fingerprint
    ? wrong
    : [...wrong, `${route.pool}: the certificate of ${route.host} is out of date`];
}

function statusOf(host: string, port: number, route: Route): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { host: route.host };
    const request = get(
      { host, port, path: route.path, headers, agent: false, timeout: 5000 },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.on('timeout', () => request.destroy(new Error('no response within 5 s')));
    request.on('error', (error) => resolve(error.message));
  });
}

function fingerprintAt(host: string, port: number, servername: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, servername, rejectUnauthorized: false, timeout: 5000 }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? 'none');
      socket.destroy();
    });
    socket.on('timeout', () => socket.destroy(new Error('no response within 5 s')));
    socket.on('error', (error) => resolve(error.message));
  });
}
