/**
 * Service account tokens for the pods of this node, while the API server that issues them is unreachable.
 *
 *   1. The kubelet requests a token for a pod. The hub forwards the request and stores the response (issued-tokens.ts).
 *   2. The API server becomes unreachable. The kubelet or the pod restarts and requests the token again.
 *   3. The hub returns the stored token, and accepts it itself (identity/).
 *
 * upkeep.ts deletes the tokens of pods that have left the node.
 */
export { IssuedTokens, type TokenRequest } from './issued-tokens.ts';
export { keepTokensOfPods } from './upkeep.ts';
