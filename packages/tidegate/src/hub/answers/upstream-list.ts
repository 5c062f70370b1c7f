import type { KubeList } from '@tidegate/kube';
import { type Exchange, partialMetadata, type Representation } from '@tidegate/serving';
import { formOf } from './forms.ts';

/** Sends a list, or a page of one, that an API server has just returned. Throws an ApiError if `formOf` does. */
export async function answerUpstreamList(
  exchange: Exchange,
  list: KubeList,
  representation: Representation,
): Promise<void> {
  const form = formOf(representation, 'list');
  if (form === 'whole') return exchange.object(200, list, representation.format);
  const { partialMetadata: apiVersion } = form;
  await exchange.object(
    200,
    {
      kind: 'PartialObjectMetadataList',
      apiVersion,
      metadata: list.metadata,
      items: list.items.map((item) => partialMetadata(item, apiVersion)),
    },
    representation.format,
  );
}
