export { type AdminRow, type AdminView, adminHandler } from './admin.ts';
