/** The processes of this machine: which of them belong to containers, and signals to them. */
export {
  AGENT_VARIABLE,
  CONTAINER_VARIABLE,
  containerProcesses,
  processesBelow,
  startTicksOf,
} from './process-table.ts';
export { signalOne } from './signal.ts';
