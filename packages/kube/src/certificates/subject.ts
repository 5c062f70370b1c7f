import type { X509Certificate } from 'node:crypto';
import { subjectElement } from './certificate.ts';
import { parseName, type Subject } from './x509.ts';

/**
 * The subject out of the DER itself: the printed form that node:crypto offers separates attributes by line breaks,
 * which a name may contain.
 */
export const subjectOf = (certificate: X509Certificate): Subject =>
  parseName(subjectElement(certificate.raw));
