/** What other programs do on the machine that runs the embedded cluster. */
export { type Listener, listeners, recentListener, recentWildcardPorts, wildcardPorts } from './listeners.ts';
