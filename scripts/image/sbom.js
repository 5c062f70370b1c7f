// The contents of the image as SPDX 2.3: the packages of Debian with checksums, and the npm packages in the bundles.
import { createHash } from 'node:crypto';
import { IMAGE, SUITE, version } from './definition.js';

export function sbomOf({ debian, npm, architecture, time }) {
  const packages = [...debian.map((each) => debianPackage(each)), ...npm.map((each) => npmPackage(each))];
  const described = {
    SPDXID: 'SPDXRef-image',
    name: 'tidegate',
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseDeclared: 'Apache-2.0',
    licenseConcluded: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [purl(`pkg:oci/tidegate@${version}?arch=${architecture}`)],
  };
  // The name of a document must be unique, and the same for the same content.
  const content = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 32);
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${IMAGE} linux/${architecture}`,
    documentNamespace: `urn:tidegate:sbom:${version}:${architecture}:${content}`,
    creationInfo: {
      created: new Date(time * 1000).toISOString().replace('.000', ''),
      creators: ['Tool: npm run image'],
    },
    documentDescribes: [described.SPDXID],
    packages: [described, ...packages],
    relationships: packages.map(({ SPDXID }) => ({
      spdxElementId: described.SPDXID,
      relationshipType: 'CONTAINS',
      relatedSpdxElement: SPDXID,
    })),
  };
}

function debianPackage({ name, version: debianVersion, architecture, sha256 }) {
  return {
    SPDXID: identifier('deb', name),
    name,
    versionInfo: debianVersion,
    supplier: 'Organization: Debian',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    // The image has the text in /usr/share/doc.
    licenseDeclared: 'NOASSERTION',
    licenseConcluded: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [
      purl(
        `pkg:deb/debian/${name}@${encodeURIComponent(debianVersion)}?arch=${architecture}&distro=${SUITE}`,
      ),
    ],
  };
}

const npmPackage = ({ name, version: npmVersion, license }) => ({
  SPDXID: identifier('npm', `${name}-${npmVersion}`),
  name,
  versionInfo: npmVersion,
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  licenseDeclared: license,
  licenseConcluded: 'NOASSERTION',
  copyrightText: 'NOASSERTION',
  externalRefs: [purl(`pkg:npm/${name.replace('@', '%40')}@${npmVersion}`)],
});

const purl = (referenceLocator) => ({
  referenceCategory: 'PACKAGE-MANAGER',
  referenceType: 'purl',
  referenceLocator,
});

const identifier = (kind, name) => `SPDXRef-${kind}-${name.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`;
