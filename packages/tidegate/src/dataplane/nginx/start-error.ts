/** As nginx words it: `bind() to 127.0.0.1:80 failed (98: Address already in use)`. */
const BIND = /^bind\(\) to .*:(\d+) failed \((\d+):/;
const CODES: Readonly<Record<string, string>> = { 13: 'EACCES', 98: 'EADDRINUSE', 99: 'EADDRNOTAVAIL' };

/** nginx did not start. With code and port where it could not listen, as servers of Node have them. */
export class NginxStartError extends Error {
  override readonly name = 'NginxStartError';
  readonly code: string | undefined;
  readonly port: number | undefined;

  constructor(reason: string) {
    super(`nginx did not start: ${reason}`);
    const [, port, number = ''] = BIND.exec(reason) ?? [];
    this.code = CODES[number];
    this.port = port === undefined ? undefined : Number(port);
  }
}
