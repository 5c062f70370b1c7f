/** Times in objects are in whole seconds. */
export const timestamp = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
