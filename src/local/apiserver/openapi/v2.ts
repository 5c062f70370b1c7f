/**
 * `/openapi/v2`, as little of it as possible: kubectl asks for it before it takes a `kind: List`, which version 3 can
 * not describe. It then looks every item's kind up, finds none, and leaves validation to the server.
 */
/** The type of the answer. Clients ask with `@` instead of the last dot, which is no valid media type. */
export const OPENAPI_V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export const openApiV2 = (serverVersion: string): object => ({
  swagger: '2.0',
  info: { title: 'Kubernetes', version: serverVersion },
  paths: {},
  definitions: {},
});

/** The same as a protobuf message, the only form that kubectl asks for. */
export function openApiV2Protobuf(serverVersion: string): Buffer {
  const info = Buffer.concat([text(1, 'Kubernetes'), text(2, serverVersion)]);
  return Buffer.concat([
    text(1, '2.0'),
    field(2, info),
    field(8, Buffer.alloc(0)),
    field(9, Buffer.alloc(0)),
  ]);
}

const LENGTH_DELIMITED = 2;

/** Fields are short here: number and length take one byte each. */
const field = (number: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.of((number << 3) | LENGTH_DELIMITED, value.length), value]);

const text = (number: number, value: string): Buffer => field(number, Buffer.from(value, 'utf8'));
