/**
 * Tokens of service accounts for the pods of this node, while the API server that issues them is away.
 *
 * A pod's token: kubelet asks for it online -> the answer goes through and is remembered -> the link is cut, kubelet or
 * the pod starts again and asks once more -> the same token, from disk -> the hub itself checks it (`identity/`).
 */
export { IssuedTokens, type TokenRequest } from './issued-tokens.ts';
