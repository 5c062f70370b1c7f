/** What other programs do on the machine that runs the embedded cluster. */
export { type Listener, listeners, recentWildcardPorts, wildcardPorts } from './listeners.ts';
