import type { X509Certificate } from 'node:crypto';
import { subjectElement } from './certificate.ts';
import { parseName, type Subject } from './x509.ts';

/**
 * Reads the subject from the DER. node:crypto only offers a printed form in which line breaks separate the
 * attributes, and a name may contain line breaks.
 */
export const subjectOf = (certificate: X509Certificate): Subject =>
  parseName(subjectElement(certificate.raw));
