/** nginx's message: `bind() to 127.0.0.1:80 failed (98: Address already in use)`. */
const BIND = /^bind\(\) to .*:(\d+) failed \((\d+):/;
const CODES: Readonly<Record<string, string>> = { 13: 'EACCES', 98: 'EADDRINUSE', 99: 'EADDRNOTAVAIL' };

/** nginx did not start. If it could not listen, `code` and `port` are set as in errors of Node.js servers. */
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
