export { FakeServer, type ReceivedRequest, WIDGETS } from './fake-server.ts';
export { answerJson } from './rest.ts';
export { SwitchedLink } from './switched-link.ts';
export { settle, VirtualClock } from './virtual-clock.ts';
