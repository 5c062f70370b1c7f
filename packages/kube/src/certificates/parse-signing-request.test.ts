import { describe, expect, it } from 'vitest';
import { hostileRequests } from '../testing/index.ts';
import { parseSigningRequest } from './parse-signing-request.ts';
import { newSigningRequest } from './signing-request.ts';

const NAMES = { user: 'system:node:n1', harmless: 'n1', evil: 'vault.example.com' };

describe('a signing request', () => {
  it('is read with its subject and its names', () => {
    const { request } = newSigningRequest({
      commonName: NAMES.user,
      organizations: ['system:nodes'],
      dnsNames: ['n1'],
      ipAddresses: ['10.0.0.1', 'fd00::1'],
    });
    for (const text of [request, request.replaceAll('\n', '\r\n'), `${request}\n`]) {
      const { subject, altNames } = parseSigningRequest(Buffer.from(text).toString('base64'));
      expect(subject).toEqual({ commonName: NAMES.user, organizations: ['system:nodes'] });
      expect(altNames).toMatchObject({ dns: ['n1'], ip: ['10.0.0.1', 'fd00::1'], others: 0 });
    }
  });

  it.each([...hostileRequests(NAMES)])(
    'is refused, because parsers read it differently: %s',
    (_, request) => {
      expect(() => parseSigningRequest(request)).toThrow(
        /exactly one PEM block|trailing data|duplicate|malformed|more than one common name/,
      );
    },
  );
});
