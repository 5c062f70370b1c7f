import { type Clock, type ConnectionState, fixedCredential } from '@tidegate/kube';
import { objectOf, podsOfNode, type View, type ViewItem, type Views } from '../views/index.ts';
import { HandBack } from './hand-back.ts';
import { OwnPods } from './own-pods.ts';
import { factsOf, type NodeReports, type ServiceFacts, Site } from './site.ts';

/** The other nodes of the site. */
export interface OtherNodes {
  inForce(): boolean;
  isMember(node: string): boolean;
  reportsOf(node: string): NodeReports | undefined;
}

export interface OpenSiteOptions {
  nodeName: string;
  views: Pick<Views, 'private'>;
  services: View;
  upstream: ConnectionState;
  /** Whether a status of a pod waits in the journal. */
  isWaiting(): boolean;
  others: OtherNodes;
  /** Called when reports of this node have changed. */
  onReports(): void;
  /** Called when reports count from now on, and when they do not any more. */
  onForce(): void;
  clock: Clock;
}

export interface OpenedSite {
  readonly site: Site;
  /** The pods of this node. */
  readonly own: OwnPods;
  /** Whether the reports of this node count. */
  inForce(): boolean;
  /** Call it when the journal is open and its writes are in the views. */
  start(): void;
  close(): void;
}

/** Connects the parts of this folder for one node. */
export function openSite(options: OpenSiteOptions): OpenedSite {
  const { nodeName, views, services, upstream, isWaiting, others, clock } = options;
  // The credentials are not used: views of the node are followed with the node's own client.
  const pods = views.private(podsOfNode(nodeName), fixedCredential({}));
  const own = new OwnPods(pods.view, (uids) => {
    if (handBack.inForce) site.podsChanged(uids);
    options.onReports();
  });
  const handBack = new HandBack({
    upstream,
    isWaiting,
    clock,
    onChange: (inForce) => {
      if (inForce) own.freeze();
      else own.follow();
      site.nodeChanged(nodeName);
      options.onForce();
    },
  });
  const ofThisNode: NodeReports = {
    get known() {
      return handBack.inForce && own.isKnown;
    },
    lost: false,
    reports: own.reports,
  };
  const site = new Site({
    inForce: () => ofThisNode.known || others.inForce(),
    // What a node reports itself takes precedence, so no other node is asked about this one.
    reportsOf: (node) => (node === nodeName ? ofThisNode : others.reportsOf(node)),
    isInSite: (node) => node === nodeName || others.isMember(node),
    serviceFacts: (key) => facts(services.get(key)),
  });
  return {
    site,
    own,
    inForce: () => handBack.inForce,
    start: () => handBack.start(),
    close: () => {
      handBack.close();
      own.close();
      pods.release();
    },
  };
}

const parsed = new WeakMap<ViewItem, ServiceFacts>();

function facts(item: ViewItem | undefined): ServiceFacts | undefined {
  if (item === undefined) return undefined;
  const known = parsed.get(item) ?? factsOf(objectOf(item));
  parsed.set(item, known);
  return known;
}
