import type { KubeObject } from '../../../kube/index.ts';
import type { ViewItem } from '../view.ts';

export const objectOf = ({ bytes }: ViewItem): KubeObject => JSON.parse(bytes.toString('utf8'));

/** Outside Node's pool: of a slab there, one object that stays would hold the memory of all that went. */
export function encode(object: KubeObject): Buffer {
  const text = JSON.stringify(object);
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text, 'utf8');
  return bytes;
}
