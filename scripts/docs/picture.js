// Draws docs/images/sites.svg: the cloud above, the sites below, the links between them. The text is in a YAML file; the
// layout follows from the number of sites and nodes.
import { parse } from 'yaml';

const WIDTH = 1000;
const MARGIN = 24;
const GAP = 28;
const CLOUD = { top: 24, height: 112 };
const SITE = { top: 232, height: 232 };
const NODE = { top: 62, height: 150, gap: 12, padding: 16 };
const PART = { height: 32, padding: 10 };
const CLIENTS_TOP = SITE.top + SITE.height + 44;
const HEIGHT = CLIENTS_TOP + 36;

/** Colors are classes, so that one file suits a light and a dark page. */
const STYLE = `
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933; }
  .page { fill: #fbfcfd; stroke: #dde3ea; }
  .cloud { fill: #e8f0fb; stroke: #9dbbe3; }
  .site { fill: #eef7f1; stroke: #a3cdb4; }
  .node { fill: #ffffff; stroke: #c5ced8; }
  .part { fill: #ffffff; stroke: #9dbbe3; }
  .hub { fill: #dce9fb; stroke: #7ea6da; }
  .door { fill: #ffe9c7; stroke: #e0a74a; }
  .pod { fill: #dff2e5; stroke: #86bd9b; }
  .title { font-size: 17px; font-weight: 600; }
  .name { font-size: 14px; font-weight: 600; }
  .label { font-size: 13px; }
  .note { font-size: 13px; fill: #5b6875; }
  .bad { font-size: 13px; font-weight: 600; fill: #c0362c; }
  .link { stroke: #4a7fc1; stroke-width: 2; fill: none; }
  .broken { stroke: #c0362c; stroke-width: 2; stroke-dasharray: 6 5; fill: none; }
  .cross { stroke: #c0362c; stroke-width: 4; stroke-linecap: round; fill: none; }
  .traffic { stroke: #b97d17; stroke-width: 2; fill: none; }
  .head-link { fill: #4a7fc1; } .head-traffic { fill: #b97d17; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e9ef; }
    .page { fill: #14191f; stroke: #2d3641; }
    .cloud { fill: #182538; stroke: #3f6396; }
    .site { fill: #16261d; stroke: #3d6b50; }
    .node { fill: #1d242c; stroke: #46525f; }
    .part { fill: #1d2836; stroke: #3f6396; }
    .hub { fill: #1f3554; stroke: #4a78b5; }
    .door { fill: #46340f; stroke: #b5852f; }
    .pod { fill: #1e3a2a; stroke: #4d8a66; }
    .note { fill: #9aa7b4; }
    .bad { fill: #ff8078; }
    .link { stroke: #6ea2e0; } .head-link { fill: #6ea2e0; }
    .broken, .cross { stroke: #ff6f66; }
    .traffic { stroke: #e0aa4e; } .head-traffic { fill: #e0aa4e; }
  }`;

export function drawSites(source, path) {
  const picture = parse(source);
  const nodes = picture.sites.reduce((count, site) => count + site.nodes.length, 0);
  const free =
    WIDTH - 2 * MARGIN - (picture.sites.length - 1) * GAP - picture.sites.length * 2 * NODE.padding;
  const gaps = (nodes - picture.sites.length) * NODE.gap;
  const nodeWidth = (free - gaps) / nodes;
  let x = MARGIN;
  const sites = picture.sites.map((site) => {
    const width = site.nodes.length * nodeWidth + (site.nodes.length - 1) * NODE.gap + 2 * NODE.padding;
    const drawn = drawSite(site, { x, width, nodeWidth, words: picture.words });
    x += width + GAP;
    return drawn;
  });
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<!-- Drawn by scripts/generate-docs.js from ${path}. Do not edit: change the source and run \`npm run docs\`. -->`,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escapeXml(picture.title)}</title>`,
    `<desc id="desc">${escapeXml(picture.description.trim())}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<defs>${arrowHead('link')}${arrowHead('traffic')}</defs>`,
    box('page', 1, 1, WIDTH - 2, HEIGHT - 2, 14),
    drawCloud(picture.cloud),
    ...sites,
    '</svg>',
    '',
  ].join('\n');
}

function drawCloud({ name, parts }) {
  const left = MARGIN + 110;
  const width = (WIDTH - MARGIN - 16 - left - (parts.length - 1) * 16) / parts.length;
  return [
    box('cloud', MARGIN, CLOUD.top, WIDTH - 2 * MARGIN, CLOUD.height, 12),
    text('title', MARGIN + 24, CLOUD.top + CLOUD.height / 2 + 6, name),
    ...parts.flatMap((part, index) => {
      const x = left + index * (width + 16);
      const middle = x + width / 2;
      return [
        box('part', x, CLOUD.top + 18, width, CLOUD.height - 36, 8),
        text('name', middle, CLOUD.top + 51, part.name, 'middle'),
        text('note', middle, CLOUD.top + 73, part.note, 'middle'),
      ];
    }),
  ].join('\n');
}

function drawSite(site, { x, width, nodeWidth, words }) {
  const bottom = SITE.top + SITE.height;
  const parts = [
    box('site', x, SITE.top, width, SITE.height, 12),
    text('title', x + NODE.padding, SITE.top + 30, site.name),
    text('note', x + NODE.padding, SITE.top + 50, site.note),
  ];
  site.nodes.forEach((node, index) => {
    const left = x + NODE.padding + index * (nodeWidth + NODE.gap);
    parts.push(drawNode(node, left, nodeWidth, words), drawLink(left + nodeWidth / 2, site.link));
  });
  parts.push(drawLinkText(site.link, x, width, words));
  const door = x + NODE.padding + nodeWidth / 2;
  parts.push(
    `<path class="traffic" marker-end="url(#head-traffic)" d="M ${door} ${CLIENTS_TOP - 8} V ${bottom - 12}"/>`,
    text('label', door, CLIENTS_TOP + 12, site.clients, 'middle'),
    ...drawTraffic(site, x, nodeWidth),
  );
  return parts.join('\n');
}

const nodeTop = SITE.top + NODE.top;
const row = (index) => nodeTop + 34 + index * (PART.height + 6);

function drawNode({ name, router, pods }, x, width, words) {
  const inner = width - 2 * PART.padding;
  const at = (index, kind, label) => [
    box(kind, x + PART.padding, row(index), inner, PART.height, 6),
    text('label', x + width / 2, row(index) + 21, label, 'middle'),
  ];
  return [
    box('node', x, nodeTop, width, NODE.height, 8),
    text('name', x + width / 2, nodeTop + 23, name, 'middle'),
    ...at(0, 'hub', words.hub),
    ...pods.flatMap((pod, index) => at(1 + index, 'pod', pod)),
    ...(router === undefined ? [] : at(2, 'door', router)),
  ].join('\n');
}

/** From the hub of a node up to the cloud. */
function drawLink(x, state) {
  const [from, to] = [nodeTop + 34, CLOUD.top + CLOUD.height];
  if (state === 'up')
    return `<path class="link" marker-end="url(#head-link)" d="M ${x} ${SITE.top} V ${to + 10}"/>`;
  const middle = (SITE.top + to) / 2;
  return [
    `<path class="broken" d="M ${x} ${Math.min(from, SITE.top)} V ${to}"/>`,
    `<path class="cross" d="M ${x - 9} ${middle - 9} l 18 18 m 0 -18 l -18 18"/>`,
  ].join('\n');
}

function drawLinkText(state, x, width, words) {
  const centre = x + width / 2;
  const middle = (SITE.top + CLOUD.top + CLOUD.height) / 2;
  return state === 'up'
    ? text('note', centre + 12, middle + 4, words.up, 'start')
    : [
        text('bad', centre, middle + 4, words.cut, 'middle'),
        text('note', x + width - NODE.padding, SITE.top + 50, words.offline, 'end'),
      ].join('\n');
}

/** From the front door to the pods of its own site. */
function drawTraffic(site, x, nodeWidth) {
  const y = row(2) + PART.height / 2;
  return site.nodes.slice(1).map((_, index) => {
    const from = x + NODE.padding + nodeWidth - PART.padding;
    const target = x + NODE.padding + (index + 1) * (nodeWidth + NODE.gap) + nodeWidth / 2;
    return `<path class="traffic" marker-end="url(#head-traffic)" d="M ${from} ${y} H ${target} V ${row(1) + PART.height + 9}"/>`;
  });
}

const arrowHead = (kind) =>
  `<marker id="head-${kind}" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path class="head-${kind}" d="M 0 0 L 10 5 L 0 10 z"/></marker>`;

const box = (kind, x, y, width, height, radius) =>
  `<rect class="${kind}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"/>`;

const text = (kind, x, y, words, anchor = 'start') =>
  `<text class="${kind}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escapeXml(words)}</text>`;

const round = (number) => Math.round(number * 10) / 10;

const escapeXml = (words) =>
  `${words}`.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
