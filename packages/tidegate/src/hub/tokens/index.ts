/**
 * Service account tokens for the pods of this node, while the API server that issues them is unreachable.
 *
 * The kubelet requests a token for a pod -> the hub forwards the request and stores the response (issued-tokens.ts) ->
 * the API server becomes unreachable, and the kubelet or the pod restarts and requests the token again -> the hub returns
 * the stored token, and accepts it itself (identity/). upkeep.ts deletes the tokens of pods that have left the node.
 */
export { IssuedTokens, type TokenRequest } from './issued-tokens.ts';
export { keepTokensOfPods } from './upkeep.ts';
